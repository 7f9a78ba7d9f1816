"""A lock that readers share."""

from collections.abc import Generator
from contextlib import contextmanager
from threading import Condition

__all__ = ["RWLock"]


class RWLock:
    """Any number of readers, or one writer. A writer that waits does not keep new readers out."""

    def __init__(self) -> None:
        self._free = Condition()
        self._readers = 0
        self._writes = False

    def r_acquire(self) -> None:
        """Begin to read, once nobody writes."""
        with self._free:
            self._free.wait_for(lambda: not self._writes)
            self._readers += 1

    def r_release(self) -> None:
        """End reading.

        Raises:
            RuntimeError: nobody reads.
        """
        with self._free:
            if not self._readers:
                raise RuntimeError("nobody reads, so reading cannot end; call `r_acquire` first")
            self._readers -= 1
            self._free.notify_all()

    @contextmanager
    def r_locked(self) -> Generator[None]:
        """Read within a `with` block."""
        self.r_acquire()
        try:
            yield
        finally:
            self.r_release()

    def w_acquire(self) -> None:
        """Begin to write, once nobody reads or writes."""
        with self._free:
            self._free.wait_for(lambda: not self._writes and not self._readers)
            self._writes = True

    def w_release(self) -> None:
        """End writing.

        Raises:
            RuntimeError: nobody writes.
        """
        with self._free:
            if not self._writes:
                raise RuntimeError("nobody writes, so writing cannot end; call `w_acquire` first")
            self._writes = False
            self._free.notify_all()

    @contextmanager
    def w_locked(self) -> Generator[None]:
        """Write within a `with` block."""
        self.w_acquire()
        try:
            yield
        finally:
            self.w_release()
