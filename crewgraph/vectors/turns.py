"""A lock for many readers or one writer."""

from collections.abc import Generator
from contextlib import contextmanager
from threading import Condition, Lock

__all__ = ["Turns"]


class Turns:
    """Readers read together; a writer is alone, and waits for no reader that came after it.

    It is not reentrant.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Nobody reads or writes, and nobody waits: so it is in a forked process."""
        self._changed = Condition(Lock())
        self._readers = 0
        self._waiting = 0
        self._writes = False

    @contextmanager
    def reading(self) -> Generator[None]:
        """A block in which nobody writes."""
        with self._changed:
            while self._writes or self._waiting:
                self._changed.wait()
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                if not self._readers:
                    self._changed.notify_all()

    @contextmanager
    def writing(self) -> Generator[None]:
        """A block in which nobody else reads or writes."""
        with self._changed:
            self._waiting += 1
            try:
                while self._writes or self._readers:
                    self._changed.wait()
            finally:
                self._waiting -= 1
                self._changed.notify_all()  # an interrupted wait must not leave readers behind
            self._writes = True
        try:
            yield
        finally:
            with self._changed:
                self._writes = False
                self._changed.notify_all()
