"""Saying to work in threads, which cannot be cancelled, that nobody waits for it any longer."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["giving_up", "told_later", "when_given_up"]


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
