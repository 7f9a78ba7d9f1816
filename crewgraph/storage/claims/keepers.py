"""Selects the kind of claims for a saver."""

import sqlite3
import weakref
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver

from crewgraph.core.claims import ClaimKeeper
from crewgraph.lazy import lazy
from crewgraph.storage.claims.files import file_claims
from crewgraph.storage.claims.process import ProcessClaims

if TYPE_CHECKING:
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer
    from crewgraph.storage.claims.postgres import postgres_claims
else:
    SqliteCheckpointer = lazy("crewgraph.storage.checkpoints.sqlite:SqliteCheckpointer")
    postgres_claims = lazy("crewgraph.storage.claims.postgres:postgres_claims")

__all__ = ["claim_keeper", "is_shared"]

_POSTGRES = "langgraph.checkpoint.postgres"
_SQLITE = "langgraph.checkpoint.sqlite"

_keepers: "weakref.WeakKeyDictionary[BaseCheckpointSaver[Any], ClaimKeeper]" = weakref.WeakKeyDictionary()
_lock = Lock()


def is_shared(saver: "BaseCheckpointSaver[Any]") -> bool:
    """Whether the claims on a saver's threads hold across processes."""
    rooms = {kind.__module__ for kind in type(saver).__mro__}
    return any(room.startswith((_POSTGRES, _SQLITE)) for room in rooms)


def claim_keeper(saver: "BaseCheckpointSaver[Any]") -> ClaimKeeper:
    """Return the claim keeper of a saver; the same object in every call for the saver."""
    if isinstance(saver, SqliteCheckpointer):
        return saver.claims
    with _lock:
        keeper = _keepers.get(saver)
        if keeper is None:
            keeper = _keepers[saver] = _keeper_for(saver)
        return keeper


def _keeper_for(saver: "BaseCheckpointSaver[Any]") -> ClaimKeeper:
    rooms = {kind.__module__ for kind in type(saver).__mro__}
    connection: Any = getattr(saver, "conn", None)
    if any(room.startswith(_POSTGRES) for room in rooms):
        return postgres_claims(connection)
    if any(room.startswith(_SQLITE) for room in rooms) and isinstance(connection, sqlite3.Connection):
        path = cast("str", connection.execute("PRAGMA database_list").fetchone()[2])
        return file_claims(path) if path else ProcessClaims()
    return ProcessClaims()
