"""Claims on the threads of a database of ours: locks tell early that a thread is busy, an epoch in the database fences.

Each claim gets a number that no claim of the database had before, and replaces the one before it. Every transaction of a run
reads its own number first. So who lost a thread, however that came about, stores nothing more in it.
"""

import sqlite3
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any

from crewgraph.core.claims import Holder
from crewgraph.errors import ThreadBusy
from crewgraph.storage.claims.files import FileClaims
from crewgraph.storage.claims.process import ProcessClaim, busy, process_name
from crewgraph.storage.database import Database, WouldBlock

_RAISE = "INSERT OR REPLACE INTO claims (thread, holder, since) VALUES (?, ?, ?)"
_READ = "SELECT 1 FROM claims WHERE no = ?"
_HOLDER = "SELECT holder, since FROM claims WHERE thread = ?"
_DELETE = "DELETE FROM claims WHERE thread = ?"
_VERIFY_INTERVAL = 0.05  # seconds


class EpochClaim:
    """A claim of this process on a thread of a database."""

    is_fenced = True
    """Whether the saver checks the claim in each transaction of the run."""

    def __init__(self, lock: ProcessClaim, database: Database, thread_id: str, epoch: int | None) -> None:
        self._lock, self._thread_id, self._epoch = lock, thread_id, epoch
        self.database = database
        """The database, whose transactions check the claim."""
        self.is_counted = epoch is not None
        """Whether the database has the claim; else the next transaction counts it, which may be rolled back."""
        self._checked = time.monotonic()

    @property
    def is_doubtful(self) -> bool:
        """Whether it was last checked too long ago, or by the process from which this one was forked."""
        return time.monotonic() - self._checked > _VERIFY_INTERVAL or self._lock.is_forked

    def check(self, connection: sqlite3.Connection) -> None:
        """Check in a transaction of the database that the claim is still held.

        Raises:
            ThreadBusy: another run has claimed the thread, or it was deleted, or this is a fork of the process that runs it.
        """
        self._lock.check_process()
        if connection.execute(_READ, (self._epoch,)).fetchone() is not None:
            self.is_counted = True
        elif not self.is_counted:
            self._epoch = _raise_epoch(connection, self._thread_id)
        else:
            row = connection.execute(_HOLDER, (self._thread_id,)).fetchone()
            if row is None:
                raise ThreadBusy(f"thread `{self._thread_id}` was deleted while it was run; nothing more is stored.")
            raise busy(self._thread_id, Holder(*row))
        self._checked = time.monotonic()

    def verify(self) -> None:
        """Check that the claim is still held; see `check`."""
        self._lock.check_process()
        if self.is_counted:
            self.database.query(self.check)

    async def averify(self) -> None:
        """Async version of `verify`."""
        try:
            self.database.nonblocking(self.verify)
        except WouldBlock:
            await self.database.run_in_thread(self.verify)

    def close(self) -> None:
        """Release the claim. May be called more than once."""
        self._lock.close()

    def close_after(self, works: Collection[Future[Any]]) -> None:
        """Delay the release until some works have ended, even if the claim is closed before."""
        self._lock.close_after(works)


class EpochClaims:
    """The claims on the threads of a database.

    Args:
        database: the database.
        locks: the locks on its threads.
        is_new: tells whether a thread has just begun, by an id that nobody else can know. Its first transaction counts the claim.
    """

    def __init__(self, database: Database, locks: FileClaims, is_new: Callable[[str], bool]) -> None:
        self._database, self._locks, self._is_new = database, locks, is_new
        locks.enter(database)

    def claim(self, thread_id: str) -> EpochClaim:
        """Claim a thread for a run of this process.

        Raises:
            ThreadBusy: another run holds it, in this process or another one.
            StorageError: the database cannot be written.
        """
        lock = self._locks.claim(thread_id)
        if self._is_new(thread_id):
            return EpochClaim(lock, self._database, thread_id, None)
        try:
            epoch = self._database.write(_raise_epoch, thread_id)
        except BaseException:  # also Ctrl-C: the thread is left free
            lock.close()
            raise
        return EpochClaim(lock, self._database, thread_id, epoch)

    def claim_nowait(self, thread_id: str) -> EpochClaim | None:
        """Like `claim`; return None if that would wait for another writer."""
        try:
            return self._database.nonblocking(self.claim, thread_id)
        except WouldBlock:
            return None

    def holder(self, thread_id: str) -> Holder | None:
        """Return the current holder of a thread."""
        return self._locks.holder(thread_id)

    def leave(self) -> None:
        """Note that the database is closed. May be called more than once."""
        self._locks.leave(self._database)


def _raise_epoch(connection: sqlite3.Connection, thread_id: str) -> int:
    return connection.execute(_RAISE, (thread_id, process_name(), time.time())).lastrowid or 0


def delete_epochs(connection: sqlite3.Connection, thread_id: str) -> None:
    """Delete what is stored of the claims on a thread; a run that still holds one stores nothing more."""
    connection.execute(_DELETE, (thread_id,))
