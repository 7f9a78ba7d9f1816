"""Where runs are kept: the checkpointer that was asked for, or the default database."""

import threading
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from crewgraph.settings import retention_days, size_cap, storage_dir
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

__all__ = ["DATABASE", "checkpointer_for", "default_checkpointer"]


DATABASE = "checkpoints.db"
"""The name of the default database in the storage folder."""

_lock = threading.Lock()
_opened: dict[Path, SqliteCheckpointer] = {}


def default_checkpointer() -> SqliteCheckpointer:
    """The database in the storage folder, opened once in a process.

    Raises:
        StorageError: it cannot be opened.
    """
    path = storage_dir() / DATABASE
    with _lock:
        if path not in _opened:
            _opened[path] = SqliteCheckpointer(
                path, retention_days=retention_days() or None, max_bytes=size_cap() or None
            )
        return _opened[path]


def checkpointer_for(*wishes: object) -> "BaseCheckpointSaver[Any] | None":
    """The first wish that is not None; False keeps nothing, no wish means the default database.

    Raises:
        TypeError: a wish is no checkpointer.
        StorageError: the database cannot be opened.
    """
    wish = next((wish for wish in wishes if wish is not None), True)
    if wish is False:
        return None
    if wish is True:
        return default_checkpointer()
    if not isinstance(wish, BaseCheckpointSaver):
        raise TypeError(
            f"`checkpointer` is a {type(wish).__name__}; give a LangGraph checkpointer, False to keep nothing, or None for "
            "the default database"
        )
    return wish  # pyright: ignore[reportUnknownVariableType]
