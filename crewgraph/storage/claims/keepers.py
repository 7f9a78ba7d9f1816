"""Selects the kind of claims for a saver, and claims threads."""

import asyncio
import sqlite3
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver

from crewgraph.core.claims import ClaimKeeper, Holder, ThreadClaim
from crewgraph.core.loops.bridge import start_in_thread
from crewgraph.core.operations import Do, Program
from crewgraph.storage.claims.process import ProcessClaims

_T = TypeVar("_T")

_POSTGRES = "langgraph.checkpoint.postgres"
_SQLITE = "langgraph.checkpoint.sqlite"

_keepers: "weakref.WeakKeyDictionary[BaseCheckpointSaver[Any], ClaimKeeper]" = weakref.WeakKeyDictionary()
_lock = Lock()


def is_on_postgres(saver: "BaseCheckpointSaver[Any]") -> bool:
    """Whether a saver is one of LangGraph's for Postgres."""
    return _is_from(saver, _POSTGRES)


def claim_keeper(saver: "BaseCheckpointSaver[Any]") -> ClaimKeeper:
    """Return the claim keeper of a saver; the same object in every call for the saver or a view of it."""
    own: ClaimKeeper | None = getattr(saver, "claims", None)
    if own is not None:
        return own
    saver = getattr(saver, "viewed", saver)
    with _lock:
        keeper = _keepers.get(saver)
        if keeper is None:
            keeper = _keepers[saver] = _keeper_for(saver)
        return keeper


def claim_thread(keeper: ClaimKeeper, thread_id: str) -> Do:
    """Claim a thread."""

    async def aclaim() -> ThreadClaim:
        if (claim := keeper.claim_nowait(thread_id)) is not None:
            return claim
        claiming = start_in_thread(partial(keeper.claim, thread_id))
        try:
            return await asyncio.wrap_future(claiming)
        except asyncio.CancelledError:
            claiming.add_done_callback(_close_unused)  # the server may answer later
            raise

    return Do(partial(keeper.claim, thread_id), aclaim)


def _close_unused(claiming: "Future[ThreadClaim]") -> None:
    if not claiming.cancelled() and claiming.exception() is None:
        claiming.result().close()


def holding_claim(
    keeper: ClaimKeeper | None,
    thread_id: str,
    held: ThreadClaim | None,
    program: Callable[[ThreadClaim | None], Program[_T]],
) -> Program[_T]:
    """Run a program with the claim on a thread.

    Args:
        keeper: manages the claims; None if the run is not stored.
        thread_id: the thread.
        held: the claim, if the caller holds it.
        program: creates the program from the claim.

    Raises:
        ThreadBusy: another run holds the thread.
    """
    if held is not None or keeper is None:
        return (yield from program(held))
    claim: ThreadClaim = yield claim_thread(keeper, thread_id)
    try:
        return (yield from program(claim))
    finally:
        claim.close()


def _keeper_for(saver: "BaseCheckpointSaver[Any]") -> ClaimKeeper:
    connection: Any = getattr(saver, "conn", None)
    if _is_from(saver, _POSTGRES):
        from crewgraph.storage.claims.postgres import postgres_claims

        return postgres_claims(connection)
    if _is_from(saver, _SQLITE):
        if isinstance(connection, sqlite3.Connection):
            return _claims_of_file(connection.execute(_FILE).fetchone())
        return _AsyncSqliteClaims(saver)
    return ProcessClaims()


def _is_from(saver: object, package: str) -> bool:
    return any(kind.__module__.startswith(package) for kind in type(saver).__mro__)


_FILE = "PRAGMA database_list"


def _claims_of_file(row: Any) -> ProcessClaims:
    path: str = row[2]
    from crewgraph.storage.claims.files import file_claims

    return file_claims(path) if path else ProcessClaims()


class _AsyncSqliteClaims:
    """The claims on the threads of LangGraph's asynchronous SQLite saver, whose file only its event loop can tell."""

    def __init__(self, saver: Any) -> None:
        self._connection, self._loop = saver.conn, saver.loop
        self._claims: ProcessClaims | None = None

    def claim(self, thread_id: str) -> ThreadClaim:
        """Claim a thread, off the saver's event loop."""
        return self._known().claim(thread_id)

    def claim_nowait(self, thread_id: str) -> ThreadClaim | None:
        """Like `claim`; return None while the file is not known."""
        return None if self._claims is None else self._claims.claim(thread_id)

    def holder(self, thread_id: str) -> Holder | None:
        """Return the current holder of a thread, off the saver's event loop."""
        return self._known().holder(thread_id)

    def _known(self) -> ProcessClaims:
        if self._claims is None:
            with suppress(RuntimeError):  # no running loop
                if asyncio.get_running_loop() is self._loop:
                    raise asyncio.InvalidStateError("Synchronous calls to AsyncSqliteSaver block its own event loop.")
            self._claims = _claims_of_file(asyncio.run_coroutine_threadsafe(self._file(), self._loop).result())
        return self._claims

    async def _file(self) -> Any:
        async with self._connection.execute(_FILE) as rows:
            return await rows.fetchone()
