"""What keeps snapshots: files of a folder, or rows of an SQLite file."""

import asyncio
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from uuid import uuid4

from pydantic import BaseModel

__all__ = ["BaseProvider", "JsonProvider", "SqliteProvider", "detect_provider", "new_id"]


def new_id() -> str:
    """A name for a snapshot, which begins with the time, in UTC."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}_{uuid4().hex[:8]}"


class BaseProvider(BaseModel, ABC):
    """Keeps snapshots in a place, on branches; each knows the one before it."""

    provider_type: str = "base"
    """What kind it is."""

    @abstractmethod
    def checkpoint(self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main") -> str:
        """Keep a snapshot.

        Args:
            data: what is kept.
            location: where.
            parent_id: the one before it on its way.
            branch: its branch.

        Returns:
            What `from_checkpoint` finds it by.
        """

    async def acheckpoint(self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main") -> str:
        """Keep a snapshot, without holding up the event loop."""
        return await asyncio.to_thread(self.checkpoint, data, location, parent_id=parent_id, branch=branch)

    @abstractmethod
    def prune(self, location: str, max_keep: int, *, branch: str = "main") -> int:
        """Remove the oldest of a branch; how many they were."""

    @abstractmethod
    def extract_id(self, location: str) -> str:
        """The name of the snapshot that `checkpoint` said is there."""

    @abstractmethod
    def from_checkpoint(self, location: str) -> str:
        """What was kept."""

    async def afrom_checkpoint(self, location: str) -> str:
        """What was kept, read without holding up the event loop."""
        return await asyncio.to_thread(self.from_checkpoint, location)

    def newest(self, location: str) -> str | None:
        """What finds the newest one of all branches; None where there is none, or the provider cannot tell."""
        return None

    def runs(self, location: str) -> Path:
        """The database that the runs are kept in of which the snapshots in a place are."""
        return Path(f"{location}.runs")


_NONE = "none"
_PARENT = "_p-"


class JsonProvider(BaseProvider):
    """Keeps each snapshot as a file, `<location>/<branch>/<id>_p-<the one before>.json`, readable by its owner."""

    provider_type: Literal["json"] = "json"  # pyright: ignore[reportIncompatibleVariableOverride]

    def checkpoint(self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main") -> str:
        folder = _folder(location, branch)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{new_id()}{_PARENT}{parent_id or _NONE}.json"
        written = path.with_suffix(".tmp")
        with open(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(data)
        written.replace(path)  # whoever reads sees all of it or nothing, also after a kill
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
        found = _by_age(Path(location).rglob("*.json"))
        return str(found[-1]) if found else None

    def runs(self, location: str) -> Path:
        return Path(location) / "runs.db"


def _folder(location: str, branch: str) -> Path:
    """The folder of a branch.

    Raises:
        ValueError: the branch's name leads out of the place.
    """
    top = Path(location)
    folder = top / branch
    if not folder.resolve().is_relative_to(top.resolve()):
        raise ValueError(f"the branch {branch!r} leads out of the folder {location!r}; give it a plain name")
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


_HEADER = b"SQLite format 3\x00"


def detect_provider(path: str) -> BaseProvider:
    """What reads the snapshots of a place: an SQLite file's, or those of a folder."""
    file = Path(path.rpartition("#")[0] or path)
    if file.is_file():
        with file.open("rb") as opened:
            if opened.read(len(_HEADER)) == _HEADER:
                return SqliteProvider()
    return JsonProvider()
