"""Claims on the threads of a SQLite database: locked bytes of a file next to it.

Each running thread locks one byte of the file, at an offset derived from the thread's id. The operating system releases the locks
of a process at its end, however it ends. So a claim needs neither heartbeat nor clock, never outlives its run and is never lost
by a slow run. The bytes are never written; the beginning of the file records, for messages only, the holders of the last claims.
"""

import os
import socket
import struct
import sys
import weakref
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock, RLock

from crewgraph.core.claims import Holder
from crewgraph.errors import StorageError
from crewgraph.storage.claims.process import ProcessClaim, ProcessClaims

if sys.platform != "win32":
    import fcntl

__all__ = ["FileClaims", "file_claims"]

_BEGINNING = 1 << 62  # the locked bytes lie beyond the notes
_SPAN = _BEGINNING - 1
_SLOTS = 4_096
_SLOT = 256  # bytes
_MODE = 0o600

# `struct flock` of fcntl(2): F_GETLK reports the holder of a lock.
_LINUX, _DARWIN = "@hhqqi4x", "@qqihh"


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

    def forked(self) -> None:
        """Discard the parent's claims in a forked child; file locks are not inherited."""
        super().forked()
        self._file_lock = RLock()

    def _take(self, thread_id: str, holder: Holder) -> ProcessClaim | Holder:
        if sys.platform != "win32":
            with self._file_lock:
                file, offset = self._opened(), _offset(thread_id)
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
                except (BlockingIOError, PermissionError):
                    return _read_holder(file, thread_id, _locked_by(file, offset) or 0)
                note = f"{offset:x} {os.getpid()} {holder.since:.3f} {_host()}\n".encode()[:_SLOT]
                with suppress(OSError):  # on a full disk the claim has no name
                    os.pwrite(file, note.ljust(_SLOT), offset % _SLOTS * _SLOT)
        return ProcessClaim(self, thread_id, holder)

    def _give_back(self, thread_id: str) -> None:
        with self._file_lock:
            if sys.platform != "win32" and self._file is not None:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _offset(thread_id))

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


def _read_holder(file: int, thread_id: str, process: int) -> Holder:
    """Return the holder of a thread, from its note if that is not overwritten yet."""
    offset = _offset(thread_id)
    note = os.pread(file, _SLOT, offset % _SLOTS * _SLOT).decode(errors="replace").split()
    if len(note) == 4 and note[0] == f"{offset:x}":
        return Holder(f"process {note[1]} on {note[3]}", float(note[2]))
    return Holder(f"process {process}" if process > 0 else "another process", None)


def _offset(thread_id: str) -> int:
    digest = blake2b(thread_id.encode(errors="surrogatepass"), digest_size=8).digest()
    return _BEGINNING + int.from_bytes(digest, "big") % _SPAN


def _locked_by(file: int, offset: int) -> int | None:
    """Return the process that has locked a byte, 0 for one not visible from here, None for none."""
    if sys.platform == "win32":
        return None
    if sys.platform == "darwin":
        asked = struct.pack(_DARWIN, offset, 1, 0, fcntl.F_WRLCK, os.SEEK_SET)
        _, _, process, kind, _ = struct.unpack(_DARWIN, fcntl.fcntl(file, fcntl.F_GETLK, asked))
    else:
        asked = struct.pack(_LINUX, fcntl.F_WRLCK, os.SEEK_SET, offset, 1, 0)
        kind, _, _, _, process = struct.unpack(_LINUX, fcntl.fcntl(file, fcntl.F_GETLK, asked))
    return None if kind == fcntl.F_UNLCK else max(process, 0)


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
