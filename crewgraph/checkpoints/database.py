"""One SQLite file, shared by threads, event loops and processes."""

import asyncio
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from crewgraph.checkpoints.faults import fault, unusable
from crewgraph.checkpoints.schema import prepare
from crewgraph.errors import StorageError

__all__ = ["MEMORY", "Database"]

MEMORY = ":memory:"
"""The path of a database that lives in this object alone."""

_P = ParamSpec("_P")
_T = TypeVar("_T")
_WORKERS = 2
_SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")


class Database:
    """A connection behind a lock, whole transactions, and a small thread pool for event loops.

    One connection serves all threads: LangGraph starts new threads for every run, and opening a connection
    costs more than a transaction. SQLite admits one writer at a time anyway.
    """

    def __init__(self, path: str, *, synchronous: str, timeout: float) -> None:
        if synchronous.upper() not in _SYNCHRONOUS:
            raise ValueError(f"`synchronous` must be one of {', '.join(_SYNCHRONOUS)}, not {synchronous!r}")
        self.path = path
        self._synchronous = synchronous.upper()
        self._timeout = timeout
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None
        self._inherited: list[sqlite3.Connection] = []
        self._closed = False
        self._connection = self._open()
        _databases.add(self)

    def read(
        self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Do some reading that sees one state of the database.

        Raises:
            StorageError: the database cannot be read.
        """
        return self._run("BEGIN", work, *args, **kwargs)

    def write(
        self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Do some writing, all of it or none.

        Raises:
            StorageError: the database cannot be written; it is as it was before.
            sqlite3.IntegrityError: a row refers to one that is gone.
        """
        return self._run("BEGIN IMMEDIATE", work, *args, **kwargs)

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
        with self._lock:
            connection = self._connection or self._open()
            try:
                if begin:
                    connection.execute(begin)
                result = work(connection, *args, **kwargs)
                if begin:
                    connection.execute("COMMIT")
            except BaseException as error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
                    raise fault(error, self.path) from error
                raise
            return result

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            with self._lock:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="crewgraph-checkpoints")
        return self._pool

    def _open(self) -> sqlite3.Connection:
        if self._closed:
            raise StorageError(f"The checkpoint database `{self.path}` is closed. Open a new one.")
        if self.path != MEMORY:
            _create(self.path)
        try:
            connection = self._connect()
        except sqlite3.Error as error:
            raise fault(error, self.path) from error
        self._connection = connection
        self._finalizer = weakref.finalize(self, connection.close)
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            _write_ahead(connection, self._timeout)
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            prepare(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection

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
        connection.execute("PRAGMA incremental_vacuum").fetchall()
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _create(path: str) -> None:
    file = Path(path)
    try:
        missing = [folder for folder in (file.parent, *file.parent.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        if not file.exists():  # SQLite gives its -wal and -shm files the mode of the database
            os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise unusable(error, path) from error


def _write_ahead(connection: sqlite3.Connection, timeout: float) -> None:
    # SQLite does not wait for its lock here, and several processes may open a new file at the same time.
    deadline = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


_databases: "weakref.WeakSet[Database]" = weakref.WeakSet()


def _after_fork() -> None:
    for database in list(_databases):
        database._forked()  # pyright: ignore[reportPrivateUsage]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
