"""Storage backends of snapshots: files in a folder, or rows of an SQLite file."""

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from uuid import uuid4

from crewgraph.core.loops.bridge import acall
from crewgraph.disk import PRIVATE, private_file, replace_file
from crewgraph.errors import StorageError
from crewgraph.redaction import RedactedModel

__all__ = ["BaseProvider", "JsonProvider", "SqliteProvider", "detect_provider", "snapshot_id"]


def snapshot_id() -> str:
    """Return a new snapshot id, which starts with the UTC time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}_{uuid4().hex[:8]}"


class BaseProvider(RedactedModel, ABC):
    """Stores snapshots at a location, on branches; each snapshot knows its parent."""

    provider_type: str = "base"
    """The kind of provider."""

    @abstractmethod
    def checkpoint(self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main") -> str:
        """Store a snapshot.

        Args:
            data: The snapshot's JSON text.
            location: Where snapshots are stored.
            parent_id: The preceding snapshot.
            branch: The snapshot's branch.

        Returns:
            The snapshot's location, for `from_checkpoint`.
        """

    async def acheckpoint(self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main") -> str:
        """Async version of `checkpoint`, run in a thread."""
        return await acall(self.checkpoint, data, location, parent_id=parent_id, branch=branch)

    @abstractmethod
    def prune(self, location: str, max_keep: int, *, branch: str = "main") -> int:
        """Remove the oldest snapshots of a branch; return how many were removed."""

    @abstractmethod
    def extract_id(self, location: str) -> str:
        """Return the id of the snapshot at a location that `checkpoint` returned."""

    @abstractmethod
    def from_checkpoint(self, location: str) -> str:
        """Read a snapshot's JSON text."""

    async def afrom_checkpoint(self, location: str) -> str:
        """Async version of `from_checkpoint`, run in a thread."""
        return await acall(self.from_checkpoint, location)

    def newest(self, location: str) -> str | None:
        """Return the location of the newest snapshot of all branches; None if there is none or the provider cannot tell."""
        return None

    def runs(self, location: str) -> Path:
        """Return the database that stores the runs of a location's snapshots."""
        return Path(f"{location}.runs")


_NONE = "none"
_PARENT = "_p-"


class JsonProvider(BaseProvider):
    """Stores each snapshot as a file, `<location>/<branch>/<id>_p-<parent id>.json`, readable by its owner only."""

    provider_type: Literal["json"] = "json"  # pyright: ignore[reportIncompatibleVariableOverride]

    def checkpoint(self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main") -> str:
        folder = _folder(location, branch)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{snapshot_id()}{_PARENT}{parent_id or _NONE}.json"
        replace_file(path, data, mode=PRIVATE)
        return str(path)

    def prune(self, location: str, max_keep: int, *, branch: str = "main") -> int:
        old = _by_age(_folder(location, branch).glob("*.json"))
        removed = old[: max(len(old) - max(max_keep, 0), 0)]
        for path in removed:
            path.unlink(missing_ok=True)
        return len(removed)

    def extract_id(self, location: str) -> str:
        return Path(location).stem.partition(_PARENT)[0]

    def from_checkpoint(self, location: str) -> str:
        return Path(location).read_text("utf-8")

    def newest(self, location: str) -> str | None:
        paths = _by_age(Path(location).rglob("*.json"))
        return str(paths[-1]) if paths else None

    def runs(self, location: str) -> Path:
        return Path(location) / "runs.db"


def _folder(location: str, branch: str) -> Path:
    """Return the folder of a branch.

    Raises:
        ValueError: If the branch's name points outside the location.
    """
    top = Path(location)
    folder = top / branch
    if not folder.resolve().is_relative_to(top.resolve()):
        raise ValueError(f"the branch {branch!r} points outside the folder {location!r}; use a plain name")
    return folder


def _by_age(paths: "os.PathLike[str] | object") -> list[Path]:
    return sorted(paths, key=lambda path: (path.stat().st_mtime_ns, path.name))  # type: ignore[call-overload]


_TABLE = """
CREATE TABLE IF NOT EXISTS checkpoints (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    parent_id TEXT,
    branch TEXT NOT NULL,
    data TEXT NOT NULL
)
"""
_SEPARATOR = "#"
_TIMEOUT = 30.0  # seconds to wait while another process writes


class SqliteProvider(BaseProvider):
    """Stores each snapshot as a row of the file `location`, addressed as `<file>#<id>` and readable by its owner only."""

    provider_type: Literal["sqlite"] = "sqlite"  # pyright: ignore[reportIncompatibleVariableOverride]

    def checkpoint(self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main") -> str:
        path, name = Path(location), snapshot_id()
        private_file(path)
        with _connect(path) as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute(_TABLE)
            database.execute(
                "INSERT INTO checkpoints (id, parent_id, branch, data) VALUES (?, ?, ?, ?)",
                (name, parent_id, branch, data),
            )
        return f"{location}{_SEPARATOR}{name}"

    def prune(self, location: str, max_keep: int, *, branch: str = "main") -> int:
        with _connect(Path(location)) as database:
            cursor = database.execute(
                "DELETE FROM checkpoints WHERE branch = ? AND number NOT IN "
                "(SELECT number FROM checkpoints WHERE branch = ? ORDER BY number DESC LIMIT ?)",
                (branch, branch, max(max_keep, 0)),
            )
            return cursor.rowcount

    def extract_id(self, location: str) -> str:
        return location.rpartition(_SEPARATOR)[2]

    def from_checkpoint(self, location: str) -> str:
        path, _, name = location.rpartition(_SEPARATOR)
        if not path:
            path, name = location, ""
        if not Path(path).is_file():
            raise FileNotFoundError(f"there is no file {path!r} with checkpoints")
        order = "WHERE id = ?" if name else "ORDER BY number DESC LIMIT 1"
        row = _first(Path(path), f"SELECT data FROM checkpoints {order}", *([name] if name else []))
        if row is None:
            raise ValueError(
                f"there is no checkpoint {name!r} in {path!r}; it may have been removed (`max_checkpoints`)"
            )
        return str(row[0])

    def newest(self, location: str) -> str | None:
        if not Path(location).is_file():
            return None
        row = _first(Path(location), "SELECT id FROM checkpoints ORDER BY number DESC LIMIT 1")
        return None if row is None else f"{location}{_SEPARATOR}{row[0]}"


@contextmanager
def _connect(path: Path) -> Generator[sqlite3.Connection]:
    """Open a file for one transaction.

    Raises:
        StorageError: It cannot be read or written.
    """
    try:
        with closing(sqlite3.connect(path, timeout=_TIMEOUT)) as database, database:
            yield database
    except sqlite3.Error as error:
        raise StorageError(f"the file `{path}` with checkpoints cannot be used: {error}") from error


def _first(path: Path, query: str, *values: str) -> tuple[str, ...] | None:
    """Return the first row of a query; None without rows, or if the first checkpoint could not be written."""
    with _connect(path) as database:
        has_table = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'checkpoints'").fetchone()
        return database.execute(query, values).fetchone() if has_table else None


_HEADER = b"SQLite format 3\x00"


def detect_provider(path: str) -> BaseProvider:
    """Return the provider that reads a location: SQLite for SQLite files, else JSON."""
    file = Path(path.rpartition("#")[0] or path)
    if file.is_file():
        with file.open("rb") as stream:
            if stream.read(len(_HEADER)) == _HEADER:
                return SqliteProvider()
    return JsonProvider()
