"""Snapshots as rows of an SQLite file."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from crewgraph.snapshots.provider import BaseProvider, new_id

__all__ = ["SqliteProvider"]

_TABLE = """
CREATE TABLE IF NOT EXISTS checkpoints (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    parent_id TEXT,
    branch TEXT NOT NULL,
    data TEXT NOT NULL
)
"""
_MARK = "#"
_TIMEOUT = 30.0  # seconds, while another process writes


class SqliteProvider(BaseProvider):
    """Keeps each snapshot as a row of the file `location`, found as `<file>#<id>`; the file is readable by its owner."""

    provider_type: Literal["sqlite"] = "sqlite"  # pyright: ignore[reportIncompatibleVariableOverride]

    def checkpoint(self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main") -> str:
        path, name = Path(location), new_id()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        with _opened(path) as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute(_TABLE)
            database.execute(
                "INSERT INTO checkpoints (id, parent_id, branch, data) VALUES (?, ?, ?, ?)",
                (name, parent_id, branch, data),
            )
        return f"{location}{_MARK}{name}"

    def prune(self, location: str, max_keep: int, *, branch: str = "main") -> int:
        with _opened(Path(location)) as database:
            done = database.execute(
                "DELETE FROM checkpoints WHERE branch = ? AND number NOT IN "
                "(SELECT number FROM checkpoints WHERE branch = ? ORDER BY number DESC LIMIT ?)",
                (branch, branch, max(max_keep, 0)),
            )
            return done.rowcount

    def extract_id(self, location: str) -> str:
        return location.rpartition(_MARK)[2]

    def from_checkpoint(self, location: str) -> str:
        path, _, name = location.rpartition(_MARK)
        if not path:
            path, name = location, ""
        if not Path(path).is_file():
            raise FileNotFoundError(f"there is no file {path!r} with checkpoints")
        order = "WHERE id = ?" if name else "ORDER BY number DESC LIMIT 1"
        with _opened(Path(path)) as database:
            row = database.execute(f"SELECT data FROM checkpoints {order}", (name,) if name else ()).fetchone()
        if row is None:
            raise ValueError(
                f"there is no checkpoint {name!r} in {path!r}; it may have been removed (`max_checkpoints`)"
            )
        return str(row[0])

    def newest(self, location: str) -> str | None:
        if not Path(location).is_file():
            return None
        with _opened(Path(location)) as database:
            row = database.execute("SELECT id FROM checkpoints ORDER BY number DESC LIMIT 1").fetchone()
        return None if row is None else f"{location}{_MARK}{row[0]}"


@contextmanager
def _opened(path: Path) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, timeout=_TIMEOUT)) as database, database:
        yield database
