"""Guards of an index against Ctrl-C and for forks.

In a forked process the parent's threads are gone, and locks that they held would never be released.
"""

import os
import signal
from collections.abc import Callable
from functools import wraps
from threading import Lock, current_thread, main_thread
from typing import ParamSpec, TypeVar
from weakref import WeakSet

__all__ = ["ForkGuard", "uninterrupted"]


_P = ParamSpec("_P")
_T = TypeVar("_T")


def uninterrupted(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Let a Ctrl-C wait until a function has ended; in the middle of it, it would leave a lock held or a change half made."""

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if current_thread() is not main_thread():  # signals are handled there
            return function(*args, **kwargs)
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            return function(*args, **kwargs)
        came: list[int] = []
        signal.signal(signal.SIGINT, lambda number, _: came.append(number))
        try:
            return function(*args, **kwargs)
        finally:
            signal.signal(signal.SIGINT, handler)
            if came:
                # Not raised again: an event loop already has it from its wakeup descriptor.
                handler(signal.SIGINT, None)

    return call


class ForkGuard:
    """Delays forks while a lock is held, for the lifetime of this object; the lock is free in both processes after a fork."""

    def __init__(self, lock: Lock) -> None:
        self.lock = lock
        with _adding:
            _guards.add(self)


_adding = Lock()
_guards: WeakSet[ForkGuard] = WeakSet()
_acquired: list[ForkGuard] = []


def _acquire() -> None:
    _adding.acquire()
    _acquired.extend(_guards)
    for guard in _acquired:
        guard.lock.acquire()


def _release() -> None:
    while _acquired:
        _acquired.pop().lock.release()
    _adding.release()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_release)
