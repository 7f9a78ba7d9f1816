"""Concurrency of an index: background maintenance, a readers-writer lock, and guards against Ctrl-C and for forks.

In a forked process the parent's threads are gone, and locks that they held would never be released.
"""

import atexit
import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from threading import Condition, Event, Lock, Thread, current_thread, main_thread
from time import sleep
from typing import ParamSpec, TypeVar
from weakref import WeakSet

__all__ = ["BackgroundSteps", "ForkGuard", "ReadWriteLock", "uninterrupted"]


_P = ParamSpec("_P")
_T = TypeVar("_T")

_STEP_PAUSE = 0.0002  # seconds between two steps, for those who wait for a lock


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


class BackgroundSteps:
    """Runs steps until there are none, in a thread, by `settle`, or in a caller that cannot wait.

    Args:
        is_due: whether there is something to do.
        step: does a little of it, unless its argument asks it to stop; False if nothing was done.
        threaded: whether to start a thread; otherwise only `settle` and `run_until` run steps.
    """

    def __init__(self, is_due: Callable[[], bool], step: Callable[[Callable[[], bool]], bool], threaded: bool) -> None:
        self._is_due, self._step, self._threaded = is_due, step, threaded
        self.renew()
        _running.add(self)

    def renew(self) -> None:
        """Reset after a fork, where the thread does not exist."""
        self._step_lock = Lock()  # steps are done one at a time
        self._starting = Lock()
        self._thread: Thread | None = None
        self._stop = Event()

    def wake(self) -> None:
        """Start the thread if something is due."""
        if not self._threaded or self._thread is not None or not self._is_due():
            return
        with self._starting:
            if self._thread is None and not self._stop.is_set():
                self._thread = Thread(target=self._run, name="crewgraph-vectors", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        try:
            while self._do_step(self._stop.is_set):
                sleep(_STEP_PAUSE)
        finally:
            with self._starting:
                self._thread = None
        if not self._stop.is_set():
            self.wake()  # something may have become due between the last check and the end

    @uninterrupted
    def _do_step(self, stopped: Callable[[], bool]) -> bool:
        with self._step_lock:
            return self._step(stopped)

    def settle(self) -> None:
        """Do everything that is due."""
        self.run_until(lambda: False)

    def run_until(self, enough: Callable[[], bool]) -> None:
        """Run steps until `enough` is true or nothing is due."""
        while not enough() and self._do_step(lambda: False):
            pass

    def stop(self) -> None:
        """End the thread after its current step; it may be woken again."""
        self.end()
        self._stop.clear()

    def end(self) -> None:
        """End the thread after its current step, for good."""
        self._stop.set()
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join()


_running: WeakSet[BackgroundSteps] = WeakSet()


def _stop_all() -> None:
    """A thread inside faiss would crash the interpreter's shutdown."""
    for worker in list(_running):
        worker.end()


atexit.register(_stop_all)


class ReadWriteLock:
    """Any number of readers or one writer. A waiting writer goes before readers that come later.

    It is not reentrant.
    """

    def __init__(self) -> None:
        self._reading = _Block(self._read, self._has_read)
        self._writing = _Block(self._write, self._has_written)
        self.renew()

    def renew(self) -> None:
        """Reset to unlocked, as after a fork."""
        self._changed = Condition(Lock())
        self._readers = 0
        self._waiting = 0
        self._writes = False

    def reading(self) -> AbstractContextManager[None]:
        """A context without writers."""
        return self._reading

    def writing(self) -> AbstractContextManager[None]:
        """A context without other readers or writers."""
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
    """Holds no state of its own, so all threads share it; a generator-based context manager would cost more than the lock."""

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._begin, self._end = begin, end

    def __enter__(self) -> None:
        self._begin()

    def __exit__(self, *raised: object) -> None:
        self._end()


class ForkGuard:
    """Delays forks while a lock is held, for the lifetime of this object.

    Args:
        lock: held while the shared state changes; free in both processes after a fork.
        renew: called in the child, to reset threads and their locks.
        inner: whether the lock is acquired while another guarded lock is held.
    """

    def __init__(self, lock: Lock, renew: Callable[[], None] | None = None, *, inner: bool = False) -> None:
        self.lock, self.renew, self.inner = lock, renew, inner
        with _adding:
            _guards.add(self)


_adding = Lock()
_guards: WeakSet[ForkGuard] = WeakSet()
_acquired: list[ForkGuard] = []


def _before() -> None:
    _adding.acquire()
    _acquired.extend(sorted(_guards, key=lambda guard: guard.inner))
    for guard in _acquired:
        guard.lock.acquire()


def _in_parent() -> None:
    while _acquired:
        _acquired.pop().lock.release()
    _adding.release()


def _in_child() -> None:
    for guard in _acquired:
        if guard.renew is not None:
            guard.renew()
    _in_parent()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
