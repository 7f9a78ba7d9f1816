"""Resources that a run opens, shares and closes at its end, such as sessions with MCP servers."""

from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, Protocol, TypeVar

from crewgraph.errors import RunError
from crewgraph.scoped import give_back

__all__ = ["RESOURCES", "RunResources", "closing_resources"]


class _Closable(Protocol):
    """A resource that can be closed without waiting."""

    def close(self) -> None:
        """Close it, without waiting."""
        ...


_C = TypeVar("_C", bound=_Closable)

RESOURCES: ContextVar["RunResources | None"] = ContextVar("crewgraph_resources", default=None)
"""The resources of the enclosing run; None outside of runs."""


class RunResources:
    """The open resources of one run."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: dict[Hashable, Any] = {}
        self._is_over = False

    def of(self, key: Hashable, make: Callable[[], _C]) -> _C:
        """Return the resource of a key, opening it with `make` the first time.

        Raises:
            RunError: the run is over.
        """
        with self._lock:
            if self._is_over:
                raise RunError("the run that needs this resource has ended")
            if key not in self._open:
                self._open[key] = make()
            return self._open[key]

    def get(self, key: Hashable) -> Any:
        """Return the resource of a key; None if it is not open."""
        return self._open.get(key)

    def close(self) -> None:
        """Close all resources; later calls of `of` fail."""
        with self._lock:
            self._is_over = True
            closing, self._open = list(self._open.values()), {}
        for resource in closing:
            resource.close()


@contextmanager
def closing_resources() -> Generator[None]:
    """Close at the end of a block what it opened, unless it belongs to an enclosing run."""
    if RESOURCES.get() is not None:
        yield
        return
    opened = RunResources()
    token = RESOURCES.set(opened)
    try:
        yield
    finally:
        give_back(token)
        opened.close()
