"""The checkpointer of a run: the one given by the caller, or the default database."""

import threading
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from crewgraph.core.loops.bridge import off_loop
from crewgraph.settings import retention_days, size_cap, storage_dir
from crewgraph.storage.checkpoints.strict import strictly_reading

if TYPE_CHECKING:
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer


DATABASE = "checkpoints.db"
"""The name of the default database in the storage folder."""

_lock = threading.Lock()
_checkpointers: "dict[Path, SqliteCheckpointer]" = {}


def default_checkpointer() -> "SqliteCheckpointer":
    """Return the database in the storage folder, in which old runs are deleted; see `checkpointer_at`."""
    return checkpointer_at(storage_dir() / DATABASE, retains=False)


def checkpointer_at(path: Path, *, retains: bool = True) -> "SqliteCheckpointer":
    """Return the checkpointer of a file, opened once per process, and reopened if the file was deleted or replaced.

    Args:
        path: the file.
        retains: whether all runs in it are kept; else those are deleted when it is opened that the settings do not keep.

    Raises:
        StorageError: the database cannot be opened.
    """
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

    if not path.is_absolute():
        path = off_loop(path.absolute)
    with _lock:
        if path not in _checkpointers or _checkpointers[path].is_replaced:
            limits: dict[str, Any] = {}
            if not retains:
                limits = {"retention_days": retention_days() or None, "max_bytes": size_cap() or None}
            _checkpointers[path] = off_loop(SqliteCheckpointer, path, **limits)
        return _checkpointers[path]


def checkpointer_for(given: object, own: object = None) -> "BaseCheckpointSaver[Any] | None":
    """Return the checkpointer of a run, None for none.

    Args:
        given: what the caller gave: a checkpointer, True for the default database, False for none; None for `own`.
        own: what the crew or flow has, in the same form; None for the default database.

    Raises:
        TypeError: the candidate is not a checkpointer.
        StorageError: the database cannot be opened, or the checkpointer may run code from it.
    """
    checkpointer = own if given is None else given
    if checkpointer is False:
        return None
    if checkpointer is None or checkpointer is True:
        return default_checkpointer()
    if not isinstance(checkpointer, BaseCheckpointSaver):
        raise TypeError(
            f"{_as_given(checkpointer)} Give a LangGraph checkpointer, False to store nothing, or None for the default database."
        )
    return strictly_reading(checkpointer)  # pyright: ignore[reportUnknownArgumentType]


def _as_given(value: object) -> str:
    """Return a sentence on what was given for a checkpointer, and for known mistakes on what to write."""
    if isinstance(value, type):
        return f"`checkpointer` is the class `{value.__name__}`: write `{value.__name__}(...)`."
    if isinstance(value, str | Path):
        return _for_address(str(value))
    if isinstance(value, AbstractContextManager | AbstractAsyncContextManager):
        return (
            "`checkpointer` is what `from_conn_string` returns, which has to be entered: "
            "`with PostgresSaver.from_conn_string(...) as saver:` (`async with` for async ones), then `checkpointer=saver`."
        )
    return f"`checkpointer` is {value!r:.80}."


def _for_address(address: str) -> str:
    """Return what to write in place of the path of a file or the address of a database."""
    scheme, separator, rest = address.partition("://")
    if scheme.partition("+")[0] in ("postgres", "postgresql"):
        return (
            "`checkpointer` is the address of a database. Open it: `from langgraph.checkpoint.postgres import PostgresSaver`, "
            "`with PostgresSaver.from_conn_string(address) as saver:`, `saver.setup()`, then `checkpointer=saver`."
        )
    path = rest.removeprefix("/") if separator else address
    return (
        "`checkpointer` is a path. Open it: `from crewgraph.storage.checkpoints import SqliteCheckpointer`, then "
        f'`checkpointer=SqliteCheckpointer("{path}")`.'
    )


def checkpointer_of_graph(checkpointer: Any) -> Any:
    """Return what a caller passes to `compile`: a checkpointer that runs no code from its database, or None, True, False.

    Raises:
        TypeError: it is none of these.
        StorageError: the checkpointer may run code from its database.
    """
    return checkpointer if checkpointer is None or isinstance(checkpointer, bool) else checkpointer_for(checkpointer)
