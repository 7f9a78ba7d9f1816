"""Claims on the threads of a SQLite database: locked bytes of a file next to it.

Each running thread locks one byte of the file, at an offset derived from the thread's id. The operating system releases the locks
of a process at its end, however it ends. So a claim needs neither heartbeat nor clock, never outlives its run and is never lost
by a slow run. The bytes are never written; the beginning of the file records the holders of the last claims.

On Linux the locks belong to the open file, not to the process: nothing else that the process opens and closes releases them.
Elsewhere, closing any descriptor of the file does. A claim can also be lost with the file. So a lock only tells early that a
thread is busy.

What fences in others' databases is the record of the holder, in our own ones an epoch: each claim gets a number that no claim of
the database had before, and replaces the one before it. Every transaction of a run reads its own number first. So who lost a
thread, however that came about, stores nothing more in it.
"""

import errno
import os
import socket
import sqlite3
import struct
import sys
import time
import weakref
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock, RLock

from crewgraph.core.claims import Holder
from crewgraph.errors import StorageError, ThreadBusy
from crewgraph.storage.claims.process import ProcessClaim, ProcessClaims, busy, process_name
from crewgraph.storage.database import Database, WouldBlock

if sys.platform != "win32":
    import fcntl


_BEGINNING = 1 << 62  # the locked bytes lie beyond the notes
_SPAN = _BEGINNING - 1
_SLOTS = 4_096
_SLOT = 256  # bytes
_MODE = 0o600

# `struct flock` of fcntl(2): F_GETLK reports the holder of a lock.
_LINUX, _DARWIN = "@hhqqi4x", "@qqihh"

_RAISE = "INSERT OR REPLACE INTO claims (thread, holder, since) VALUES (?, ?, ?)"
_READ = "SELECT 1 FROM claims WHERE no = ?"
_HOLDER = "SELECT holder, since FROM claims WHERE thread = ?"
_DELETE = "DELETE FROM claims WHERE thread = ?"


class FileClaim(ProcessClaim):
    """A claim of this process on a thread of a SQLite database."""

    verify_interval = 0.05

    database: Database | None = None
    """The database of ours whose transactions check the claim; None for a database of another program."""

    epoch: int | None = None
    """The number of the claim in that database; None before the first transaction that counts it."""

    is_counted = False
    """Whether the database has the claim; else the next transaction counts it, which may be rolled back."""

    def __init__(self, claims: "FileClaims", thread_id: str, holder: Holder, *, noted: bool) -> None:
        super().__init__(claims, thread_id, holder)
        self._find_other, self._noted = claims.find_other, noted

    def check(self, connection: sqlite3.Connection) -> None:
        """Check in a transaction of the database that the claim is still held.

        Raises:
            ThreadBusy: another run has claimed the thread, or it was deleted, or this is a fork of the process that runs it.
        """
        self.check_process()
        if connection.execute(_READ, (self.epoch,)).fetchone() is not None:
            self.is_counted = True
        elif not self.is_counted:
            self.epoch = _raise_epoch(connection, self.thread_id)
        else:
            row = connection.execute(_HOLDER, (self.thread_id,)).fetchone()
            if row is None:
                raise ThreadBusy(f"thread `{self.thread_id}` was deleted while it was run; nothing more is stored.")
            raise busy(self.thread_id, Holder(*row))
        self.checked_at = time.monotonic()

    def verify(self) -> None:
        """Verify that the claim is not lost.

        Raises:
            ThreadBusy: it is, or another process has claimed the thread.
        """
        self.check_process()
        if self.database is None:
            if (other := self._find_other(self.thread_id, self._holder if self._noted else None)) is not None:
                raise busy(self.thread_id, other)
            self.checked_at = time.monotonic()
        elif self.is_counted:
            self.database.query(self.check)

    async def averify(self) -> None:
        """Async version of `verify`."""
        if self.database is None:
            self.verify()
            return
        try:
            self.database.nonblocking(self.verify)
        except WouldBlock:
            await self.database.run_in_thread(self.verify)


class FileClaims(ProcessClaims):
    """The claims on the threads of one database file.

    Its file is closed when the last user of the database has left and no claim is held; without users, when nothing refers to
    this object. Without locks on byte ranges (Windows) they hold within the process only.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._file: int | None = None
        self._closing: weakref.finalize[..., object] | None = None
        self._file_lock = RLock()  # a run that is collected as garbage releases its claim at any moment
        self._users: weakref.WeakSet[object] = weakref.WeakSet()
        self._is_left = False

    def enter(self, user: object) -> None:
        """Keep the file open, once it is, until this user leaves."""
        with self._file_lock:
            self._users.add(user)
            self._is_left = False

    def leave(self, user: object) -> None:
        """Close the file if this is the last user and no claim is held. May be called more than once."""
        with self._file_lock:
            self._users.discard(user)
            self._is_left = not self._users
            self._close_if_left()

    def release(self, thread_id: str, holder: Holder) -> None:
        """Release a claim, if it is still held."""
        super().release(thread_id, holder)
        if self._is_left:
            with self._file_lock:
                self._close_if_left()

    def holder(self, thread_id: str) -> Holder | None:
        """Return the current holder of a thread."""
        if (own := super().holder(thread_id)) is not None:
            return own
        if sys.platform == "win32" or not os.path.exists(self._path):
            return None
        with self._file_lock:
            try:
                file = self._opened()
            except StorageError:  # a read-only database
                return None
            process = _locked_by(file, _offset(thread_id))
            found = None if process is None else _read_holder(file, thread_id, process)
            self._close_if_left()
            return found

    def find_other(self, thread_id: str, noted: Holder | None) -> Holder | None:
        """Return who has claimed a thread that this process claimed before; None if it still holds it.

        Args:
            thread_id: the thread.
            noted: the holder as this process has noted it; None if it could not.
        """
        if sys.platform == "win32":
            return None
        with self._file_lock:
            file, offset = self._file, _offset(thread_id)
            try:
                found = os.stat(self._path)
            except OSError:
                found = None
            if file is None or found is None or not os.path.samestat(found, os.fstat(file)):
                return Holder("another process", None)  # the file was replaced, and others lock the new one
            note = _read_note(file, offset)
            if noted is not None and note is not None and note != _note(offset, noted).split():
                return _read_holder(file, thread_id, 0)
            process = _locked_by(file, offset)
            return None if process is None else _read_holder(file, thread_id, process)

    def forked(self) -> None:
        """Discard the parent's claims in a forked child."""
        super().forked()
        self._file_lock = RLock()
        if self._closing is not None:  # else the child would keep the parent's locks beyond the end of the parent
            self._closing()
            self._file = self._closing = None

    def _take(self, thread_id: str, holder: Holder) -> ProcessClaim | Holder:
        if sys.platform == "win32":
            return FileClaim(self, thread_id, holder, noted=False)
        with self._file_lock:
            file, offset = self._opened(), _offset(thread_id)
            try:
                _lock_call(file, "SETLK", fcntl.F_WRLCK, offset)
            except (BlockingIOError, PermissionError):
                return _read_holder(file, thread_id, _locked_by(file, offset) or 0)
            try:
                os.pwrite(file, _note(offset, holder).ljust(_SLOT), offset % _SLOTS * _SLOT)
                noted = True
            except OSError:  # on a full disk the claim has no name
                noted = False
        return FileClaim(self, thread_id, holder, noted=noted)

    def _give_back(self, thread_id: str) -> None:
        with self._file_lock:
            if sys.platform != "win32" and self._file is not None:
                _lock_call(self._file, "SETLK", fcntl.F_UNLCK, _offset(thread_id))

    def _close_if_left(self) -> None:
        # While a claim is held, closing would release its lock; its release closes then.
        if self._is_left and not self._holders and self._closing is not None:
            self._closing()
            self._file = self._closing = None

    def _opened(self) -> int:
        # Opened once per process: closing any descriptor of a file releases all locks of the process on it.
        file = self._file
        if file is not None and (len(self._holders) > 1 or os.fstat(file).st_nlink):
            return file
        if self._closing is not None:  # the file was deleted, and another process would lock a new one
            self._closing()
            self._file = self._closing = None
        try:
            self._file = file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        except OSError as error:
            raise StorageError(
                f"The file `{self._path}`, whose locks claim the threads of its database, cannot be written ({error}). Set "
                "CREWGRAPH_STORAGE_DIR to a folder that can be written, or pass `checkpointer=False` to run without checkpoints."
            ) from error
        self._closing = weakref.finalize(self, os.close, file)
        self._closing.atexit = False  # daemon threads may still run then
        return file


_host = cache(socket.gethostname)


def _note(offset: int, holder: Holder) -> bytes:
    return f"{offset:x} {os.getpid()} {holder.since:.6f} {_host()}\n".encode()[:_SLOT]


def _read_note(file: int, offset: int) -> list[bytes] | None:
    """Return the parts of the note on a locked byte; None if another one's took its place."""
    note = os.pread(file, _SLOT, offset % _SLOTS * _SLOT).split()
    return note if len(note) == 4 and note[0] == f"{offset:x}".encode() else None


def _read_holder(file: int, thread_id: str, process: int) -> Holder:
    """Return the holder of a thread, from its note if that is not overwritten yet."""
    note = _read_note(file, _offset(thread_id))
    if note is not None:
        number, since, host = (part.decode(errors="replace") for part in note[1:])
        return Holder(f"process {number} on {host}", float(since))
    return Holder(f"process {process}" if process > 0 else "another process", None)


def _offset(thread_id: str) -> int:
    digest = blake2b(thread_id.encode(errors="surrogatepass"), digest_size=8).digest()
    return _BEGINNING + int.from_bytes(digest, "big") % _SPAN


if sys.platform != "win32":
    _LAYOUT = _DARWIN if sys.platform == "darwin" else _LINUX

    def _locked_by(file: int, offset: int) -> int | None:
        """Return the process that has locked a byte, 0 for one that is not known, None for none."""
        found = struct.unpack(_LAYOUT, _lock_call(file, "GETLK", fcntl.F_WRLCK, offset))
        process, kind = (found[2], found[3]) if sys.platform == "darwin" else (found[4], found[0])
        return None if kind == fcntl.F_UNLCK else max(process, 0)

    def _lock_call(file: int, command: str, kind: int, offset: int) -> bytes:
        """Set or read a lock that belongs to the open file where the system has such locks, else to the process."""
        if sys.platform == "darwin":
            record = struct.pack(_LAYOUT, offset, 1, 0, kind, os.SEEK_SET)
        else:
            record = struct.pack(_LAYOUT, kind, os.SEEK_SET, offset, 1, 0)
        if sys.platform == "linux":
            try:
                return fcntl.fcntl(file, getattr(fcntl, f"F_OFD_{command}"), record)
            except OSError as error:
                if error.errno != errno.EINVAL:  # else a kernel without them
                    raise
        return fcntl.fcntl(file, getattr(fcntl, f"F_{command}"), record)


_known: "weakref.WeakValueDictionary[str, FileClaims]" = weakref.WeakValueDictionary()
_lock = Lock()


def file_claims(database: str) -> FileClaims:
    """The claims on the threads of a database file; the same object for the same file."""
    path = f"{Path(database).resolve()}-claims"
    with _lock:
        claims = _known.get(path)
        if claims is None:
            claims = _known[path] = FileClaims(path)
        return claims


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

    def claim(self, thread_id: str) -> FileClaim:
        """Claim a thread for a run of this process.

        Raises:
            ThreadBusy: another run holds it, in this process or another one.
            StorageError: the database cannot be written.
        """
        claim = self._locks.claim(thread_id)
        assert isinstance(claim, FileClaim)
        claim.database, claim.is_fenced = self._database, True
        if self._is_new(thread_id):
            return claim
        try:
            claim.epoch = self._database.write(_raise_epoch, thread_id)
        except BaseException:  # also Ctrl-C: the thread is left free
            claim.close()
            raise
        claim.is_counted = True
        return claim

    def claim_nowait(self, thread_id: str) -> FileClaim | None:
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
