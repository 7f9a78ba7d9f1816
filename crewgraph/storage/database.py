"""One SQLite file, shared by threads, event loops and processes.

SQLite's errors told as what happened to a database of ours, and what to do.

The tables of one kind of database, and how a file comes to have them.

The tables of the checkpoint database.

- `lineages`: one thread in one namespace; its number, when it was last written, and when it began.
- `checkpoints`: one row a superstep; the versions of all channels and the numbers of their values, as JSON,
whole
  or as the difference to the parent's.
- `writes`: what a task wrote before its superstep ended, as the number of a value; where no channel can come to hold it, the
  bytes themselves, and the number -1.
- `payloads`: the bytes of values; a write and the channel it went to share them.

What holds a file, in `with` and `async with`.
"""

import asyncio
import logging
import os
import sqlite3
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Concatenate, NamedTuple, ParamSpec, Self, TypeVar

from crewgraph.core.loops.bridge import in_thread
from crewgraph.errors import StorageError
from crewgraph.settings import private_file

__all__ = [
    "CHECKPOINTS",
    "MEMORY",
    "TABLES",
    "VERSION",
    "Closing",
    "Database",
    "Faults",
    "Tables",
    "WouldWait",
    "busy",
    "damaged",
]


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


class Tables(NamedTuple):
    """What makes a file a database of its kind."""

    faults: Faults
    """How its faults are told."""

    application: int
    """The number in the file's header: a file of another program is never touched."""

    migrations: tuple[str, ...]
    """What brings the tables from a version to the next, statements with `;` between; the first makes those of an empty file.
    The version stands in `PRAGMA user_version`."""

    look: str
    """A query that fails where the tables are not what they should be."""

    @property
    def version(self) -> int:
        """The version of the tables."""
        return len(self.migrations)

    def prepare(self, connection: sqlite3.Connection, path: str) -> None:
        """Give an empty file its tables and bring older tables up to date, in one transaction.

        Raises:
            StorageError: the file belongs to another program, or to a newer crewgraph.
        """
        if self._found(connection, path) == self.version:
            return
        connection.execute("BEGIN IMMEDIATE")  # another process may be doing the same: look again inside
        for migration in self.migrations[self._found(connection, path) :]:
            for statement in migration.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {self.application}")
        connection.execute(f"PRAGMA user_version = {self.version}")
        connection.execute("COMMIT")

    def _found(self, connection: sqlite3.Connection, path: str) -> int:
        application: int = connection.execute("PRAGMA application_id").fetchone()[0]
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if application != self.application:
            if version or application or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise StorageError(
                    f"The file `{path}` is a database of another program. Choose another path for the {self.faults.noun}."
                )
            return 0
        if version > self.version:
            raise StorageError(
                f"The {self.faults.noun} `{path}` was written by a newer crewgraph (its tables have version "
                f"{version}, this one knows {self.version}). "
                "Upgrade crewgraph, or set CREWGRAPH_STORAGE_DIR to another folder."
            )
        return version


_TABLES = """
CREATE TABLE lineages (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    thread TEXT NOT NULL,
    ns TEXT NOT NULL,
    touched INTEGER NOT NULL,
    UNIQUE (thread, ns)
);
CREATE TABLE checkpoints (
    lineage INTEGER NOT NULL REFERENCES lineages ON DELETE CASCADE,
    id TEXT NOT NULL,
    parent TEXT,
    drift INTEGER NOT NULL,
    whole INTEGER NOT NULL,
    run TEXT,
    kind TEXT NOT NULL,
    head BLOB NOT NULL,
    versions TEXT NOT NULL,
    PRIMARY KEY (lineage, id)
) WITHOUT ROWID;
CREATE INDEX runs ON checkpoints (run) WHERE run IS NOT NULL;
CREATE TABLE writes (
    lineage INTEGER NOT NULL REFERENCES lineages ON DELETE CASCADE,
    checkpoint TEXT NOT NULL,
    task TEXT NOT NULL,
    idx INTEGER NOT NULL,
    path TEXT NOT NULL,
    channel TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (lineage, checkpoint, task, idx)
) WITHOUT ROWID;
CREATE TABLE payloads (no INTEGER PRIMARY KEY, kind TEXT NOT NULL, data BLOB NOT NULL);
"""

_BEGINNINGS = """
ALTER TABLE lineages ADD COLUMN created REAL NOT NULL DEFAULT 0;
UPDATE lineages SET created = touched
"""

_OWN_BYTES = """
ALTER TABLE writes ADD COLUMN kind TEXT;
ALTER TABLE writes ADD COLUMN data BLOB
"""

TABLES = Tables(
    faults=CHECKPOINTS,
    application=0x43575247,  # "CWRG"
    migrations=(_TABLES, _BEGINNINGS, _OWN_BYTES),
    look="SELECT no FROM lineages LIMIT 1",
)
"""The tables of checkpoints."""

VERSION = TABLES.version
"""The version of the tables."""


MEMORY = ":memory:"
"""The path of a database that lives in this object alone."""

_P = ParamSpec("_P")
_T = TypeVar("_T")
_logger = logging.getLogger(__name__)
_WORKERS = 2
_WRITING = "BEGIN IMMEDIATE"
_LOOK = 16  # transactions between two looks at the log
_LOG = 8 << 20  # bytes: a longer write-ahead log is folded into the file and cut back
_HEAVY = 1 << 18  # bytes: more are never written on an event loop
_PAUSES = (0.001, 0.002, 0.005, 0.01, 0.02)  # seconds between two looks at a locked database
_SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")


class WouldWait(Exception):
    """Something that was to be done at once cannot be."""


class Database:
    """A connection behind a lock, whole transactions, and a small thread pool for event loops.

    One connection serves all threads: LangGraph starts new threads for every run, and opening a connection
    costs more than a transaction. SQLite admits one writer at a time anyway.

    SQLite's waiting is done here: for another process that writes, and for the disk when the write-ahead log
    is folded into the file. So a caller that must not wait, an event loop, can try a transaction at once.
    """

    def __init__(self, path: str, *, synchronous: str, timeout: float, tables: Tables = TABLES) -> None:
        if synchronous.upper() not in _SYNCHRONOUS:
            raise ValueError(f"`synchronous` must be one of {', '.join(_SYNCHRONOUS)}, not {synchronous!r}")
        self.path = path if path == MEMORY else os.path.abspath(path)
        self._log = f"{self.path}-wal"
        self._tables = tables
        self._faults = tables.faults
        self._synchronous = synchronous.upper()
        self._timeout = timeout
        self._lock = threading.Lock()
        self._hurry = threading.local()
        self._pool: ThreadPoolExecutor | None = None
        self._inherited: list[sqlite3.Connection] = []
        self.opened = 0
        """How often a connection was opened: again in a forked child, where nothing remembered holds."""
        self._written = 0
        self._closed = False
        self._connection: sqlite3.Connection | None = None
        self._run("", self._look)
        _databases.add(self)

    def read(self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do some reading that sees one state of the database.

        Raises:
            StorageError: the database cannot be read.
        """
        return self._run("BEGIN", work, *args, **kwargs)

    def write(self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do some writing, all of it or none.

        Raises:
            StorageError: the database cannot be written; it is as it was before.
            sqlite3.IntegrityError: a row refers to one that is gone.
        """
        return self._run(_WRITING, work, *args, **kwargs)

    def glance(
        self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Do some reading of a single statement, which needs no transaction.

        Raises:
            StorageError: the database cannot be read.
        """
        return self._run("", work, *args, **kwargs)

    def at_once(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do something short that must not wait for others; it is undone and told if it would.

        Raises:
            WouldWait: another thread or process is using the database, or there is much to write.
        """
        self._hurry.now = True
        try:
            return work(*args, **kwargs)
        finally:
            self._hurry.now = False

    def weigh(self, size: int) -> None:
        """Tell that so many bytes are about to be written.

        Raises:
            WouldWait: they are too many to be written at once, and that was asked for.
        """
        if size > _HEAVY and getattr(self._hurry, "now", False):
            raise WouldWait

    async def aside(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do something off the event loop, in this database's own threads."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads(), lambda: work(*args, **kwargs))

    def shrink(self, *, wholly: bool = False) -> None:
        """Give free pages back to the disk; unless `wholly`, only when they are a quarter of the file."""
        self._run("", _shrink, wholly)

    def used(self) -> int:
        """Bytes that hold something."""
        return self._run("", _used)

    def close(self) -> None:
        """Close the file; twice is once."""
        with self._lock:
            connection, self._connection = self._connection, None
            pool, self._pool = self._pool, None
            self._closed = True
        if pool is not None:
            pool.shutdown(wait=False)
        if connection is not None:
            self._finalizer.detach()
            connection.close()

    def _run(
        self,
        begin: str,
        work: Callable[Concatenate[sqlite3.Connection, _P], _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        hurry: bool = getattr(self._hurry, "now", False)
        deadline, pauses = 0.0, iter(_PAUSES)
        while True:
            if not self._lock.acquire(blocking=not hurry):
                raise WouldWait
            try:
                result = self._once(begin, work, *args, **kwargs)
                break
            except sqlite3.IntegrityError:
                raise
            except sqlite3.Error as error:
                deadline = deadline or time.monotonic() + self._timeout
                if not busy(error) or time.monotonic() > deadline:
                    raise self._faults.fault(error, self.path) from error
            finally:
                self._lock.release()
            if hurry:
                raise WouldWait
            time.sleep(next(pauses, _PAUSES[-1]))
        if begin == _WRITING:
            self._written += 1
            if self._written % _LOOK == 0 and self._log_is_long():
                self._fold(hurry)
        return result

    def _once(
        self,
        begin: str,
        work: Callable[Concatenate[sqlite3.Connection, _P], _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        connection = self._connection or self._open()
        if not begin:
            return work(connection, *args, **kwargs)
        connection.execute(begin)
        try:
            result = work(connection, *args, **kwargs)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    def _fold(self, hurry: bool) -> None:
        if hurry:
            self._threads().submit(self._fold, False)
            return
        try:
            self._run("", _fold)
        except StorageError as error:  # what was to be saved is saved; the next transaction tries again
            _logger.warning("The write-ahead log stays as it is: %s", error)

    def _log_is_long(self) -> bool:
        try:
            return os.stat(self._log).st_size > _LOG
        except OSError:  # there is none, as in memory
            return False

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            with self._lock:
                self._check_open()
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="crewgraph-database")
        return self._pool

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(f"The {self._faults.noun} `{self.path}` is closed. Open a new one.")

    def _open(self) -> sqlite3.Connection:
        self._check_open()
        if self.path != MEMORY:
            self._create()
        self._connection = connection = self._connect()
        self.opened += 1
        self._finalizer = weakref.finalize(self, connection.close)
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=0,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute(f"PRAGMA journal_size_limit = {_LOG}")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA secure_delete = FAST")  # what was deleted may be personal
            self._tables.prepare(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self) -> None:
        try:
            private_file(self.path)  # SQLite gives its -wal and -shm files the mode of the database
        except OSError as error:
            raise self._faults.unusable(error, self.path) from error

    def _look(self, connection: sqlite3.Connection) -> None:
        connection.execute(self._tables.look).fetchone()

    def _forked(self) -> None:
        # The child shares the parent's file descriptors: it must neither use nor close the connection it
        # inherits.
        self._lock = threading.Lock()
        self._pool = None
        if self._connection is not None and self.path != MEMORY:
            self._inherited.append(self._connection)
            self._finalizer.detach()
            self._connection = None


def _numbers(connection: sqlite3.Connection, *names: str) -> Iterator[int]:
    return (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)


def _used(connection: sqlite3.Connection) -> int:
    pages, free, size = _numbers(connection, "page_count", "freelist_count", "page_size")
    return (pages - free) * size


def _shrink(connection: sqlite3.Connection, wholly: bool) -> None:
    pages, free = _numbers(connection, "page_count", "freelist_count")
    if free and (wholly or free * 4 > pages):
        connection.executescript("PRAGMA incremental_vacuum")  # `execute` would free a single page
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _fold(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


_databases: "weakref.WeakSet[Database]" = weakref.WeakSet()


def _after_fork() -> None:
    for database in list(_databases):
        database._forked()  # pyright: ignore[reportPrivateUsage]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Closing(ABC):
    """Is closed at the end of its block; on an event loop in a thread, for closing may wait."""

    @abstractmethod
    def close(self) -> None:
        """End what it holds; twice is once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await in_thread(self.close)
