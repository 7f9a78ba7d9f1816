"""A run that nobody wants to go on: it stops before its next effect, so that nothing is begun and nothing done is lost.

Saying to work in threads, which cannot be cancelled, that nobody waits for it any longer.

What passes through user code that may fail: LangGraph's exceptions that steer a graph.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = [
    "ABANDONED",
    "RunAbandoned",
    "check_cancelled",
    "giving_up",
    "is_control_flow",
    "told_later",
    "when_given_up",
]


class RunAbandoned(BaseException):
    """Raised inside of a run that is left; no `except Exception` holds it."""

    def __init__(self) -> None:
        super().__init__("whoever watched the run went away before its end")


ABANDONED: ContextVar[Callable[[], bool] | None] = ContextVar("crewgraph_left", default=None)
"""Says whether the run of the running code is left; None where nobody can leave it."""


def check_cancelled() -> None:
    """Stop here if the run is left.

    Raises:
        RunLeft: it is.
    """
    left = ABANDONED.get()
    if left is not None and left():
        raise RunAbandoned


class _GivenUp:
    """Whether the work of some threads is still waited for, and who wants to know."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said = False
        self._listeners: dict[int, Callable[[], None]] = {}

    def say(self) -> None:
        with self._lock:
            self._said = True
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()

    def add(self, listener: Callable[[], None]) -> None:
        with self._lock:
            self._listeners[id(listener)] = listener
            said = self._said
        if said:
            listener()

    def remove(self, listener: Callable[[], None]) -> None:
        with self._lock:
            self._listeners.pop(id(listener), None)


_given_up: ContextVar[_GivenUp | None] = ContextVar("crewgraph_given_up", default=None)


@contextmanager
def giving_up() -> Generator[None]:
    """A block that begins threads, in copies of its context, and tells them if it ends with an error."""
    given_up = _GivenUp()
    with when_given_up(given_up.say):
        before = _given_up.set(given_up)
        try:
            yield
        except BaseException:
            given_up.say()
            raise
        finally:
            _given_up.reset(before)


@contextmanager
def told_later() -> Generator[Callable[[], None]]:
    """A block that begins threads which outlive it, and the function that tells them, whenever it is called."""
    given_up = _GivenUp()
    before = _given_up.set(given_up)
    try:
        yield given_up.say
    finally:
        _given_up.reset(before)


@contextmanager
def when_given_up(listener: Callable[[], None]) -> Generator[None]:
    """A block whose thread has a function called, from another thread, once it is not waited for any longer."""
    given_up = _given_up.get()
    if given_up is None:
        yield
        return
    given_up.add(listener)
    try:
        yield
    finally:
        given_up.remove(listener)


def is_control_flow(error: BaseException) -> bool:
    """Whether it is one of LangGraph's, which steer the graph (that package is not imported here)."""
    return any(c.__name__ == "GraphBubbleUp" and c.__module__ == "langgraph.errors" for c in type(error).__mro__)
