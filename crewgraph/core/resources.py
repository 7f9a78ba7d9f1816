"""What a run opens on its way, is used by all of it, and is closed at its end: sessions with servers."""

from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, Protocol, TypeVar

from crewgraph.errors import RunError

__all__ = ["RunResources", "closing_resources", "enclosing_resources"]


class _Closable(Protocol):
    """Something that can be closed, without waiting for it."""

    def close(self) -> None:
        """Let it come to its end."""
        ...


_C = TypeVar("_C", bound=_Closable)

_around: ContextVar["RunResources | None"] = ContextVar("crewgraph_opened", default=None)


class RunResources:
    """What one run has opened."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: dict[Hashable, Any] = {}
        self._is_over = False

    def of(self, key: Hashable, make: Callable[[], _C]) -> _C:
        """What is open under a key; made where there is nothing yet.

        Raises:
            RunError: the run is over.
        """
        with self._lock:
            if self._is_over:
                raise RunError("the run that this was done for is over")
            if key not in self._open:
                self._open[key] = make()
            return self._open[key]

    def close(self) -> None:
        """Let everything come to its end."""
        with self._lock:
            self._is_over = True
            closing, self._open = list(self._open.values()), {}
        for one in closing:
            one.close()

    @contextmanager
    def used(self) -> Generator[None]:
        """A block that finds this around it."""
        before = _around.get()
        _around.set(self)
        try:
            yield
        finally:
            _around.set(before)  # not by a token: a generator may go on in another context


def enclosing_resources() -> RunResources | None:
    """What the run around the code has opened; None outside of any run."""
    return _around.get()


@contextmanager
def closing_resources() -> Generator[None]:
    """A block that closes at its end what is opened in it, unless the run around it does."""
    if _around.get() is not None:
        yield
        return
    opened = RunResources()
    try:
        with opened.used():
            yield
    finally:
        opened.close()
