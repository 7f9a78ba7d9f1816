"""SQLite's errors told as what happened to the checkpoint database, and what to do."""

import sqlite3

from crewgraph.errors import StorageError

__all__ = ["busy", "damaged", "fault", "unusable"]

_ELSEWHERE = (
    "Set CREWGRAPH_STORAGE_DIR to a folder that can be written, "
    "or pass `checkpointer=False` to run without checkpoints."
)
_ASIDE = (
    "Move the file away (with its `-wal` and `-shm` files) and start again: the runs it holds cannot be "
    "resumed, what they returned is not affected. `sqlite3 FILE .recover` may save some of it."
)
_TOLD = {
    sqlite3.SQLITE_READONLY: ("is read-only", _ELSEWHERE),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", _ELSEWHERE),
    sqlite3.SQLITE_PERM: ("may not be opened", _ELSEWHERE),
    sqlite3.SQLITE_AUTH: ("may not be opened", _ELSEWHERE),
    sqlite3.SQLITE_FULL: (
        "cannot grow: the disk is full",
        "Nothing that was saved is lost. Free some space, lower `max_bytes` or `retention_days`, "
        "or set CREWGRAPH_STORAGE_DIR to another disk; the run can be resumed.",
    ),
    sqlite3.SQLITE_IOERR: (
        "cannot be read or written: the disk reported an error",
        f"What was saved before stays readable if the disk is. {_ELSEWHERE}",
    ),
    sqlite3.SQLITE_BUSY: (
        "stayed locked by another process",
        "End the process that holds it (a database shell with an open transaction, a backup), or give each "
        "program its own CREWGRAPH_STORAGE_DIR.",
    ),
    sqlite3.SQLITE_CORRUPT: ("is damaged", _ASIDE),
    sqlite3.SQLITE_NOTADB: ("is not a database", _ASIDE),
    sqlite3.SQLITE_ERROR: ("has other tables than this crewgraph makes", _ASIDE),
    sqlite3.SQLITE_TOOBIG: (
        "cannot hold a value this large",
        "Keep large data in files and their paths in the state.",
    ),
}
_TOLD[sqlite3.SQLITE_LOCKED] = _TOLD[sqlite3.SQLITE_BUSY]


def fault(error: sqlite3.Error, path: str) -> StorageError:
    """The error a user sees for an error of SQLite: the file, what is wrong with it, what to do."""
    what, remedy = _TOLD.get(_code(error), ("cannot be used", _ELSEWHERE))
    return StorageError(f"The checkpoint database `{path}` {what} (SQLite: {error}). {remedy}")


def busy(error: sqlite3.Error) -> bool:
    """Whether another connection was using the database."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def unusable(error: OSError, path: str) -> StorageError:
    """The error for a file or folder that cannot be made."""
    return StorageError(f"The checkpoint database `{path}` cannot be created ({error}). {_ELSEWHERE}")


def damaged(what: str, path: str) -> StorageError:
    """The error for rows that SQLite reads well and that make no sense."""
    return StorageError(f"The checkpoint database `{path}` is damaged: {what}. {_ASIDE}")


def _code(error: sqlite3.Error) -> int:
    extended: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE)  # Python's own errors have none
    return extended & 0xFF
