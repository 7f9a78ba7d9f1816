"""One SQLite file, shared by threads, event loops and processes.

`DatabaseSchema` says which tables a file has, `DatabaseErrors` words SQLite's errors for users, and
`Database` runs transactions. The tables themselves are in `checkpoints/schema.py` and `store/schema.py`.
"""

import asyncio
import atexit
import os
import sqlite3
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

from crewgraph.core.loops.bridge import in_thread, refuses_blocking
from crewgraph.core.loops.threads import ThreadPool
from crewgraph.disk import absolute_path, private_file
from crewgraph.errors import StorageError
from crewgraph.formats import check_format
from crewgraph.redaction import redacted_logger


class DatabaseErrors(NamedTuple):
    """The error messages of one kind of database."""

    noun: str
    """The name in messages: "checkpoint database"."""

    unusable_hint: str
    """The advice if the file cannot be used, one sentence."""

    damaged_hint: str
    """The advice if the content is inconsistent, and what it would lose."""

    full_hint: str
    """The advice if the disk is full."""

    too_large_hint: str
    """The advice if a value is too large."""

    def translate(self, error: sqlite3.Error, path: str) -> StorageError:
        """The user-facing error for an error of SQLite: the file, the problem and a remedy."""
        code = _sqlite_code(error)
        if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY) and _is_full_disk(path):
            code = sqlite3.SQLITE_FULL
        problem = _PROBLEMS.get(code, "cannot be used")
        return StorageError(f"The {self.noun} `{path}` {problem} (SQLite: {error}). {self._hint(code)}")

    def cannot_create(self, error: OSError, path: str) -> StorageError:
        """The error for a file or folder that cannot be created."""
        return StorageError(f"The {self.noun} `{path}` cannot be created ({error}). {self.unusable_hint}")

    def unstorable(self, error: UnicodeEncodeError, path: str) -> StorageError:
        """The error for a name or a text with half a character in it."""
        text = ascii(str(error.object)[:80])
        return StorageError(
            f"The {self.noun} `{path}` cannot hold {text}: a surrogate in it, at position {error.start}, is half of a "
            "character. Take it out, or give another text."
        )

    def replaced(self, path: str) -> StorageError:
        """The error for a file that is no longer the one that was opened."""
        return StorageError(
            f"The {self.noun} `{path}` was deleted or replaced while it was open, so nothing more is read or written. If the "
            "file was moved, put it back and run again; else start a new run, with a new checkpointer if you pass your own."
        )

    def log_removed(self, path: str, *, is_saved: bool) -> StorageError:
        """The error for a write-ahead log that was removed while it was open.

        Args:
            path: the database.
            is_saved: whether all that the log held is in the database now.
        """
        outcome = "What it held was written to the database" if is_saved else "What was saved last may be lost"
        return StorageError(
            f"The write-ahead log `{path}-wal` of the {self.noun} was deleted or replaced while it was open. {outcome}; run "
            "again to continue. Leave the files `-wal` and `-shm` alone as long as a program uses the database."
        )

    def damaged(self, problem: str, path: str) -> StorageError:
        """The error for rows that SQLite can read but that are inconsistent."""
        return StorageError(f"The {self.noun} `{path}` is damaged: {problem}. {self.damaged_hint}")

    def _hint(self, code: int) -> str:
        if code in _DAMAGED:
            return self.damaged_hint
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return _UNLOCK_HINT
        if code == sqlite3.SQLITE_READONLY:
            return f"Make it writable, or for new data: {self.unusable_hint}"
        if code == sqlite3.SQLITE_IOERR:
            return f"Data saved earlier stays readable if the disk is. {self.unusable_hint}"
        return {sqlite3.SQLITE_FULL: self.full_hint, sqlite3.SQLITE_TOOBIG: self.too_large_hint}.get(
            code, self.unusable_hint
        )


_UNLOCK_HINT = (
    "End the process that holds it (a database shell with an open transaction, a backup), or give each "
    "program its own CREWGRAPH_STORAGE_DIR."
)
_NO_SPACE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
_PROBLEMS = {
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
    sqlite3.SQLITE_ERROR: "does not have the tables of this version of crewgraph",
    sqlite3.SQLITE_TOOBIG: "cannot hold a value this large",
}


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another connection was using the database."""
    return _sqlite_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _sqlite_code(error: sqlite3.Error) -> int:
    extended: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE)  # Python's own errors have none
    return extended & 0xFF


class DatabaseSchema(NamedTuple):
    """The tables of one kind of database."""

    errors: DatabaseErrors
    """The error messages for this kind of database."""

    application_id: int
    """`PRAGMA application_id` of the file: files of other programs are never touched."""

    format: int
    """The number of the format, `PRAGMA user_version`."""

    tables: str
    """The statements that create the tables, separated by `;`."""

    probe: str
    """A query that fails if the tables are not as expected."""

    def prepare(self, connection: sqlite3.Connection, path: str) -> None:
        """Create the tables in an empty file, in one transaction.

        Raises:
            OtherFormat: the file was written by a version of crewgraph with another format.
            StorageError: the file belongs to another program.
        """
        connection.execute("BEGIN")  # else another process may create the tables between two of the reads
        try:
            is_empty = self._is_empty(connection, path)
        finally:
            if connection.in_transaction:  # an error may have ended it
                connection.execute("COMMIT")
        if not is_empty:
            return
        connection.execute("BEGIN IMMEDIATE")
        if self._is_empty(connection, path):  # another process may have done the same
            for statement in self.tables.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {self.application_id}")
            connection.execute(f"PRAGMA user_version = {self.format}")
        connection.execute("COMMIT")

    def _is_empty(self, connection: sqlite3.Connection, path: str) -> bool:
        application: int = connection.execute("PRAGMA application_id").fetchone()[0]
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if application != self.application_id:
            if version or application or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise StorageError(
                    f"The file `{path}` is a database of another program. Choose another path for the {self.errors.noun}."
                )
            return True
        check_format(
            version,
            f"The {self.errors.noun} `{path}`",
            "Else move the file away, with its `-wal` and `-shm` files, or set CREWGRAPH_STORAGE_DIR to another folder.",
            self.format,
        )
        return False


MEMORY = ":memory:"
"""The path of an in-memory database, which ends with its object."""

_P = ParamSpec("_P")
_T = TypeVar("_T")
_logger = redacted_logger(__name__)
_WORKERS = 2
_BEGIN_WRITE = "BEGIN IMMEDIATE"
_BEGIN_SYNCED = "BEGIN EXCLUSIVE"  # the same to SQLite: a write that waits for the disk
_WRITES = (_BEGIN_WRITE, _BEGIN_SYNCED)
_LOG_CHECK_INTERVAL = 16  # transactions between two checks of the log
_MAX_LOG_BYTES = 8 << 20  # bytes: a longer write-ahead log is folded into the file and cut back
_SQLITES_OWN = 1 << 16  # bytes: twice the size of the smallest `-shm` file
_MAX_NONBLOCKING_BYTES = 1 << 18  # bytes: more are never written on an event loop
_LOCK_PAUSES = (0.001, 0.002, 0.005, 0.01, 0.02)  # seconds between retries on a locked database
_END_TIMEOUT = 5.0  # seconds to wait for a transaction at the end of the interpreter
_INCREMENTAL = 2  # the value of `PRAGMA auto_vacuum`
_SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")


class WouldBlock(Exception):
    """The operation cannot be done without blocking."""


class Database:
    """A connection behind a lock, with whole transactions and a small thread pool for event loops.

    One connection serves all threads: LangGraph starts new threads for every run, and opening a connection
    costs more than a transaction. SQLite admits one writer at a time anyway.

    Waiting is done here and not in SQLite, both for other processes that write and for the disk when the write-ahead
    log is checkpointed. So a caller that must not block, such as an event loop, can try a transaction with `nonblocking`.
    """

    def __init__(self, path: str, *, synchronous: str, timeout: float, schema: DatabaseSchema) -> None:
        if synchronous.upper() not in _SYNCHRONOUS:
            raise ValueError(f"`synchronous` must be one of {', '.join(_SYNCHRONOUS)}, not {synchronous!r}")
        if "://" in path:
            rest = path.partition("://")[2].removeprefix("/")
            raise ValueError(
                f"`{path}` is an address, and SQLite takes the path of a file: write `{rest or 'runs.db'}`"
            )
        self._schema = schema
        self._errors = schema.errors
        try:
            self.path = path if path == MEMORY else absolute_path(path)
        except FileNotFoundError as error:
            raise StorageError(f"The {self._errors.noun} {error}") from error
        self._log = f"{self.path}-wal"
        self._synchronous = synchronous.upper()
        self._timeout = timeout
        self._lock: threading.RLock | _EndLock = threading.RLock()
        self._nonblocking = threading.local()
        self._pool: ThreadPool | None = None
        self._inherited: list[sqlite3.Connection] = []
        self._written = 0
        self._closed = False
        self._damaged = False
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._log_file: tuple[int, int] | None = None
        """The write-ahead log that the connection uses; None if it may go and come, as for a connection that only reads."""
        self._frozen: tuple[int, int, int] | None = None
        """What a file that is read as if nobody writes to it consists of; None for others."""
        self._run("", self._probe)
        _databases.add(self)

    def read(self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run read queries on one consistent state of the database.

        Raises:
            StorageError: the database cannot be read.
        """
        return self._run("BEGIN", work, *args, **kwargs)

    def write(self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run statements in one transaction, which is rolled back on any error.

        Raises:
            StorageError: the database cannot be written; it is unchanged.
        """
        return self._run(_BEGIN_WRITE, work, *args, **kwargs)

    def write_synced(
        self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Like `write`, and wait until the disk has it with all that was written before: it survives a power cut.

        With `synchronous="OFF"` nothing waits for the disk.

        Raises:
            WouldBlock: the caller is `nonblocking`.
        """
        if getattr(self._nonblocking, "now", False):
            raise WouldBlock
        return self._run(_BEGIN_SYNCED, work, *args, **kwargs)

    def query(self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run a single read statement, which needs no transaction.

        Raises:
            StorageError: the database cannot be read.
        """
        return self._run("", work, *args, **kwargs)

    def nonblocking(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run something short that must not wait for others; it is rolled back if it would have to.

        Raises:
            WouldBlock: another thread or process is using the database, or there is much to write.
        """
        self._nonblocking.now = True
        try:
            return work(*args, **kwargs)
        except Exception as error:  # raised again, unless a server lets nothing block on its loop
            if refuses_blocking(error):
                raise WouldBlock from error
            raise
        finally:
            self._nonblocking.now = False

    def announce_write(self, sizes: Iterable[int]) -> None:
        """Announce that so many bytes are about to be written; they are added up only if it matters.

        Raises:
            WouldBlock: the caller is `nonblocking`, and that is too much to write on an event loop.
        """
        if getattr(self._nonblocking, "now", False) and sum(sizes) > _MAX_NONBLOCKING_BYTES:
            raise WouldBlock

    async def run_in_thread(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run something off the event loop, in this database's own threads."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread_pool(), lambda: work(*args, **kwargs))

    async def write_in_thread(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Like `run_in_thread`, but a cancellation waits for the end: who continues what was cancelled must find it written."""
        writing = asyncio.ensure_future(self.run_in_thread(work, *args, **kwargs))
        cancelled: asyncio.CancelledError | None = None
        while not writing.done():
            try:
                await asyncio.wait([writing])
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled from writing.exception()
        return writing.result()

    def shrink(self, *, fully: bool = False) -> None:
        """Return free pages to the disk; unless `fully`, only if they are more than a quarter of the file."""
        self._run("", _shrink, fully)

    def used_bytes(self) -> int:
        """Bytes in use, free pages excluded."""
        return self._run("", _used_bytes)

    @property
    def is_replaced(self) -> bool:
        """Whether the file was deleted, or another one took its place, since it was opened."""
        return self._file is not None and _identities(self.path) != [self._file]

    @property
    def is_lost(self) -> bool:
        """Whether the file turned out to be damaged, or was deleted or replaced, so that nothing more can be read from it."""
        return self._damaged or self.is_replaced

    def close(self) -> None:
        """Close the file. May be called more than once."""
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
        work: Callable[..., _T],
        *args: Any,
        **kwargs: Any,
    ) -> _T:
        nonblocking: bool = getattr(self._nonblocking, "now", False)
        deadline, pauses = 0.0, iter(_LOCK_PAUSES)
        while True:
            try:
                result = self._locked(nonblocking, begin, work, *args, **kwargs)
                break
            except UnicodeEncodeError as error:
                raise self._errors.unstorable(error, self.path) from error
            except sqlite3.Error as error:
                deadline = deadline or time.monotonic() + self._timeout
                if not is_busy(error) or time.monotonic() > deadline:
                    self._damaged |= _sqlite_code(error) in _DAMAGED
                    raise self._errors.translate(error, self.path) from error
            if nonblocking:
                raise WouldBlock
            time.sleep(next(pauses, _LOCK_PAUSES[-1]))
        if begin in _WRITES:
            self._written += 1
            if self._written % _LOG_CHECK_INTERVAL == 0 and self._log_size() > _MAX_LOG_BYTES:
                self._checkpoint_log(nonblocking)
        return result

    def _locked(
        self,
        nonblocking: bool,
        begin: str,
        work: Callable[..., _T],
        *args: Any,
        **kwargs: Any,
    ) -> _T:
        lock = self._lock
        # A Ctrl-C may come between any two calls: the lock is acquired inside, and nothing is called before its release.
        try:
            if not lock.acquire(blocking=not nonblocking):
                raise WouldBlock
            if lock is self._lock:
                return self._attempt(begin, work, *args, **kwargs)
        finally:
            try:  # noqa: SIM105
                lock.release()
            except RuntimeError:  # this thread did not acquire it
                pass
        return self._locked(nonblocking, begin, work, *args, **kwargs)  # the interpreter has started to shut down

    def _attempt(
        self,
        begin: str,
        work: Callable[..., _T],
        *args: Any,
        **kwargs: Any,
    ) -> _T:
        if self._frozen is not None and (begin in _WRITES or self._frozen != self._contents()):
            self._disconnect()  # perhaps it can be written by now, or somebody has done so
        connection = self._connection or self._open()
        # SQLite would continue to use a deleted file, and everything written to it would be lost.
        if self._file is not None:
            file, log = _identities(self.path, self._log)
            if file != self._file:
                raise self._errors.replaced(self.path)
            if self._log_file is not None and log != self._log_file:
                raise self._errors.log_removed(self.path, is_saved=self._leave_log())
        if not begin:
            return work(connection, *args, **kwargs)
        waits = begin == _BEGIN_SYNCED and self._synchronous == "NORMAL"
        try:
            if waits:
                connection.execute("PRAGMA synchronous = FULL")
            connection.execute(begin)
            result = work(connection, *args, **kwargs)
            connection.execute("COMMIT")
        except BaseException:  # also Ctrl-C: the transaction is rolled back
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        finally:
            if waits:
                connection.execute("PRAGMA synchronous = NORMAL")
        return result

    def _checkpoint_log(self, nonblocking: bool) -> None:
        if nonblocking:
            self._thread_pool().submit(self._checkpoint_log, False)
            return
        try:
            self._run("", _checkpoint_log)
        except StorageError as error:  # the data is saved; the next transaction retries
            _logger.warning("The write-ahead log was not checkpointed: %s", error)

    def _disconnect(self) -> None:
        connection, self._connection, self._frozen = self._connection, None, None
        if connection is not None:
            self._finalizer.detach()
            connection.close()

    def _leave_log(self) -> bool:
        """Leave a log that was removed: SQLite would write to it what nobody finds. Return whether the database holds all of it.

        If another process has made a new log, the connection is left open: SQLite would take that log for its own.
        """
        connection, self._connection = self._connection, None
        if connection is None:
            return False
        self._finalizer.detach()
        if _identity(self._log) is not None:
            _abandoned.append(connection)
            return False
        with closing(connection), suppress(sqlite3.Error):
            is_busy, pages, saved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            return not is_busy and pages == saved
        return False

    def _contents(self) -> tuple[int, int, int] | None:
        """What changes with each write to the file: its time, its size and that of its log; None if there is no file."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, self._log_size()

    def _log_size(self) -> int:
        try:
            return os.stat(self._log).st_size
        except OSError:  # there is none, as in memory
            return 0

    def _thread_pool(self) -> ThreadPool:
        if self._pool is None:
            with self._lock:
                self._check_open()
                if self._pool is None:
                    self._pool = ThreadPool(_WORKERS, "crewgraph-database")
        return self._pool

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(f"The {self._errors.noun} `{self.path}` is closed. Open a new one.")

    def _open(self) -> sqlite3.Connection:
        self._check_open()
        if self.is_replaced:  # as seen by a forked process
            raise self._errors.replaced(self.path)
        if self.path != MEMORY:
            self._create()
        connection = self._connect()
        self._file = None if self.path == MEMORY else _identity(self.path)
        self._finalizer = weakref.finalize(self, connection.close)
        self._finalizer.atexit = False  # threads may still use the connection then: see `_end`
        self._connection = connection
        return connection

    def _connect(self) -> sqlite3.Connection:
        self._log_file = None
        if self.path != MEMORY and not _is_writable(self.path):
            return self._connect_for_reading()
        connection = _connected(self.path)
        try:
            if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != _INCREMENTAL:  # to set it again is to write
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute(f"PRAGMA journal_size_limit = {_MAX_LOG_BYTES}")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA secure_delete = FAST")  # what was deleted may be personal
            self._schema.prepare(connection, self.path)
        except BaseException as error:  # also Ctrl-C: the connection is closed
            connection.close()
            if (
                isinstance(error, sqlite3.OperationalError)
                and _sqlite_code(error) in _NO_SPACE
                and self._log_size() == 0
            ):
                return self._connect_to_frozen()  # SQLite makes a file of its own even for reading
            raise
        if self.path != MEMORY:
            self._log_file = _identity(self._log)
        return connection

    def _connect_for_reading(self) -> sqlite3.Connection:
        """Connect to a file that cannot be written, or whose folder cannot.

        SQLite reads the write-ahead log if the files beside the database are there; without a log the file is all there is.
        """
        try:
            return self._prepared(_connected(f"{Path(self.path).as_uri()}?mode=ro", uri=True))
        except sqlite3.OperationalError as error:
            if _sqlite_code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) or self._log_size() > 0:
                raise
        return self._connect_to_frozen()

    def _connect_to_frozen(self) -> sqlite3.Connection:
        """Connect to a file without a log, to read it as if nobody wrote to it."""
        self._frozen = self._contents()
        return self._prepared(_connected(f"{Path(self.path).as_uri()}?mode=ro&immutable=1", uri=True))

    def _prepared(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            self._schema.prepare(connection, self.path)
        except BaseException:  # also Ctrl-C: the connection is closed
            connection.close()
            raise
        return connection

    def _create(self) -> None:
        try:
            private_file(self.path)  # SQLite gives its -wal and -shm files the mode of the database
        except OSError as error:
            raise self._errors.cannot_create(error, self.path) from error

    def _probe(self, connection: sqlite3.Connection) -> None:
        connection.execute(self._schema.probe).fetchone()

    def _end(self) -> None:
        """Close the connection at the end of the interpreter, and let the threads that still run wait for the end."""
        lock, self._lock = self._lock, _EndLock()
        self._closed = True
        connection, self._connection = self._connection, None
        if connection is None:
            return
        self._finalizer.detach()
        # The lock is never released: waiting threads wait until the process ends.
        if lock.acquire(timeout=_END_TIMEOUT):
            connection.close()
        # Otherwise a thread is inside of SQLite, and its frame holds the connection for as long as there is a process.

    def _forked(self) -> None:
        # The child shares the parent's file descriptors: it must neither use nor close the connection it
        # inherits.
        self._lock = threading.RLock()
        self._pool = None
        if self._connection is not None and self.path != MEMORY:
            self._inherited.append(self._connection)
            self._finalizer.detach()
            self._connection = None


def _connected(database: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(
        database, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=256, uri=uri
    )


def _identity(path: str) -> tuple[int, int] | None:
    """Return the device and the inode of a file; None if there is none."""
    return _identities(path)[0]


def _identities(*paths: str) -> list[tuple[int, int] | None]:
    """Return the device and the inode of each file; None for one that does not exist."""
    found: list[tuple[int, int] | None] = []
    for path in paths:
        try:
            status = os.stat(path)
            found.append((status.st_dev, status.st_ino))
        except OSError:
            found.append(None)
    return found


def _is_full_disk(path: str) -> bool:
    """Whether the disk of a file has no room for the files that SQLite makes beside it."""
    if path == MEMORY or not hasattr(os, "statvfs"):
        return False
    try:
        disk = os.statvfs(os.path.dirname(path))
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _SQLITES_OWN


def _is_writable(path: str) -> bool:
    """Whether SQLite can write a file, and the log beside it."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(place, os.W_OK, effective_ids=effective) for place in (path, os.path.dirname(path)))


def _pragmas(connection: sqlite3.Connection, *names: str) -> Iterator[int]:
    return (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages, free, size = _pragmas(connection, "page_count", "freelist_count", "page_size")
    return (pages - free) * size


def _shrink(connection: sqlite3.Connection, fully: bool) -> None:
    pages, free = _pragmas(connection, "page_count", "freelist_count")
    if free and (fully or free * 4 > pages):
        connection.executescript("PRAGMA incremental_vacuum")  # `execute` would free a single page
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _checkpoint_log(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


class _EndLock:
    """The lock of a database during interpreter shutdown: daemon threads block on it until the end."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if threading.current_thread() is not threading.main_thread():
            threading.Event().wait()
        return True  # the main thread gets an error that the database is closed

    def release(self) -> None:
        """Do nothing: no other thread waits for it in vain, as the process ends."""

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *failure: object) -> None:
        self.release()


_databases: "weakref.WeakSet[Database]" = weakref.WeakSet()
_abandoned: list[sqlite3.Connection] = []
"""Connections that must not be closed before the process ends."""


def _leave_connections() -> None:
    for database in list(_databases):
        database._forked()  # pyright: ignore[reportPrivateUsage]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_connections)


@atexit.register
def _at_exit() -> None:
    for database in list(_databases):
        database._end()  # pyright: ignore[reportPrivateUsage]


class Closeable(ABC):
    """A context manager, sync and async, that closes at the end; the async form closes in a thread, as closing may block."""

    @abstractmethod
    def close(self) -> None:
        """Release the resources. May be called more than once."""

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
