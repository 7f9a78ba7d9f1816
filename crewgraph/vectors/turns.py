"""A lock for many readers or one writer."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Condition, Lock

__all__ = ["Turns"]


class Turns:
    """Readers read together; a writer is alone, and waits for no reader that came after it.

    It is not reentrant.
    """

    def __init__(self) -> None:
        self._reading = _Block(self._read, self._has_read)
        self._writing = _Block(self._write, self._has_written)
        self.renew()

    def renew(self) -> None:
        """Nobody reads or writes, and nobody waits: so it is in a forked process."""
        self._changed = Condition(Lock())
        self._readers = 0
        self._waiting = 0
        self._writes = False

    def reading(self) -> AbstractContextManager[None]:
        """A block in which nobody writes."""
        return self._reading

    def writing(self) -> AbstractContextManager[None]:
        """A block in which nobody else reads or writes."""
        return self._writing

    def _read(self) -> None:
        with self._changed:
            while self._writes or self._waiting:
                self._changed.wait()
            self._readers += 1

    def _has_read(self) -> None:
        with self._changed:
            self._readers -= 1
            if not self._readers and self._waiting:
                self._changed.notify_all()

    def _write(self) -> None:
        with self._changed:
            self._waiting += 1
            try:
                while self._writes or self._readers:
                    self._changed.wait()
            finally:
                self._waiting -= 1
                self._changed.notify_all()  # an interrupted wait must not leave readers behind
            self._writes = True

    def _has_written(self) -> None:
        with self._changed:
            self._writes = False
            self._changed.notify_all()


class _Block(AbstractContextManager[None]):
    """Holds nothing of its own, so that all threads share one; a generator would cost more than the lock."""

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._begin, self._end = begin, end

    def __enter__(self) -> None:
        self._begin()

    def __exit__(self, *raised: object) -> None:
        self._end()
