"""SQLite's errors told as what happened to a database of ours, and what to do."""

import sqlite3
from typing import NamedTuple

from crewgraph.errors import StorageError

__all__ = ["CHECKPOINTS", "Faults", "busy", "damaged"]


class Faults(NamedTuple):
    """How the faults of one kind of database are told."""

    noun: str
    """What it is: "checkpoint database"."""

    elsewhere: str
    """What to do when the file cannot be used, one sentence."""

    aside: str
    """What to do when what is in it makes no sense, and what is lost then."""

    full: str
    """What to do when the disk is full."""

    large: str
    """What to do when a value is too large."""

    def fault(self, error: sqlite3.Error, path: str) -> StorageError:
        """The error a user sees for an error of SQLite: the file, what is wrong with it, what to do."""
        code = _code(error)
        what = _TOLD.get(code, "cannot be used")
        return StorageError(f"The {self.noun} `{path}` {what} (SQLite: {error}). {self._remedy(code)}")

    def unusable(self, error: OSError, path: str) -> StorageError:
        """The error for a file or folder that cannot be made."""
        return StorageError(f"The {self.noun} `{path}` cannot be created ({error}). {self.elsewhere}")

    def damaged(self, what: str, path: str) -> StorageError:
        """The error for rows that SQLite reads well and that make no sense."""
        return StorageError(f"The {self.noun} `{path}` is damaged: {what}. {self.aside}")

    def _remedy(self, code: int) -> str:
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
            return self.aside
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return _UNLOCK
        if code == sqlite3.SQLITE_IOERR:
            return f"What was saved before stays readable if the disk is. {self.elsewhere}"
        return {sqlite3.SQLITE_FULL: self.full, sqlite3.SQLITE_TOOBIG: self.large}.get(code, self.elsewhere)


CHECKPOINTS = Faults(
    noun="checkpoint database",
    elsewhere=(
        "Set CREWGRAPH_STORAGE_DIR to a folder that can be written, "
        "or pass `checkpointer=False` to run without checkpoints."
    ),
    aside=(
        "Move the file away (with its `-wal` and `-shm` files) and start again: the runs it holds cannot be "
        "resumed, what they returned is not affected. `sqlite3 FILE .recover` may save some of it."
    ),
    full=(
        "Nothing that was saved is lost. Free some space, lower `max_bytes` or `retention_days`, "
        "or set CREWGRAPH_STORAGE_DIR to another disk; the run can be resumed."
    ),
    large="Keep large data in files and their paths in the state.",
)
"""How the faults of the checkpoint database are told."""

damaged = CHECKPOINTS.damaged

_UNLOCK = (
    "End the process that holds it (a database shell with an open transaction, a backup), or give each "
    "program its own CREWGRAPH_STORAGE_DIR."
)
_TOLD = {
    sqlite3.SQLITE_READONLY: "is read-only",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_PERM: "may not be opened",
    sqlite3.SQLITE_AUTH: "may not be opened",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reported an error",
    sqlite3.SQLITE_BUSY: "stayed locked by another process",
    sqlite3.SQLITE_LOCKED: "stayed locked by another process",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_NOTADB: "is not a database",
    sqlite3.SQLITE_ERROR: "has other tables than this crewgraph makes",
    sqlite3.SQLITE_TOOBIG: "cannot hold a value this large",
}


def busy(error: sqlite3.Error) -> bool:
    """Whether another connection was using the database."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _code(error: sqlite3.Error) -> int:
    extended: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE)  # Python's own errors have none
    return extended & 0xFF
