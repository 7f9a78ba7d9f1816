"""What a forked process finds: the threads of the parent are not there, and their locks would be held for ever."""

import os
from collections.abc import Callable
from threading import Lock
from weakref import WeakSet

__all__ = ["OverForks"]


class OverForks:
    """Sees to it that a process is forked only while nobody holds a lock, as long as this object is there.

    Args:
        lock: held by whoever changes what the processes share; it is free in both of them.
        renew: called in the new process, to forget threads and their locks.
        inner: whether the lock is taken by those who hold such a lock already.
    """

    def __init__(self, lock: Lock, renew: Callable[[], None] | None = None, *, inner: bool = False) -> None:
        self.lock, self.renew, self.inner = lock, renew, inner
        with _adding:
            _all.add(self)


_adding = Lock()
_all: WeakSet[OverForks] = WeakSet()
_held: list[OverForks] = []


def _before() -> None:
    _adding.acquire()
    _held.extend(sorted(_all, key=lambda one: one.inner))
    for one in _held:
        one.lock.acquire()


def _in_parent() -> None:
    while _held:
        _held.pop().lock.release()
    _adding.release()


def _in_child() -> None:
    for one in _held:
        if one.renew is not None:
            one.renew()
    _in_parent()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
