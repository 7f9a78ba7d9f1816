"""Work that is done beside what uses an index, in a thread that is there while there is something to do.

A lock for many readers or one writer.

What a forked process finds: the threads of the parent are not there, and their locks would be held for ever.
"""

import atexit
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Condition, Event, Lock, Thread
from time import sleep
from weakref import WeakSet

__all__ = ["Background", "OverForks", "Turns"]


_BREATH = 0.0002  # seconds between two steps, for those who wait for a lock


class Background:
    """Does steps until there are none; by a thread, by `settle`, or by whoever cannot wait.

    Args:
        is_due: whether there is something to do.
        step: does a little of it, unless it is told to stop; False where nothing was done.
        threaded: whether a thread is started; else steps are done by `settle` and `hurry` alone.
    """

    def __init__(self, is_due: Callable[[], bool], step: Callable[[Callable[[], bool]], bool], threaded: bool) -> None:
        self._is_due, self._step, self._threaded = is_due, step, threaded
        self.renew()
        _all.add(self)

    def renew(self) -> None:
        """Forget threads, which are not there in a forked process."""
        self._one = Lock()  # steps are done one at a time
        self._starting = Lock()
        self._thread: Thread | None = None
        self._stop = Event()

    def wake(self) -> None:
        """See to it that what is due is done some time."""
        if not self._threaded or self._thread is not None or not self._is_due():
            return
        with self._starting:
            if self._thread is None and not self._stop.is_set():
                self._thread = Thread(target=self._run, name="crewgraph-vectors", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        try:
            while self._did(self._stop.is_set):
                sleep(_BREATH)
        finally:
            with self._starting:
                self._thread = None
        if not self._stop.is_set():
            self.wake()  # something may have become due between the last look and the end

    def _did(self, stopped: Callable[[], bool]) -> bool:
        with self._one:
            return self._step(stopped)

    def settle(self) -> None:
        """Do all that is due."""
        self.hurry(lambda: False)

    def hurry(self, enough: Callable[[], bool]) -> None:
        """Do what is due until it is enough."""
        while not enough() and self._did(lambda: False):
            pass

    def stop(self) -> None:
        """End the thread, after its step; it may be woken again."""
        self.end()
        self._stop.clear()

    def end(self) -> None:
        """End the thread, after its step, for good."""
        self._stop.set()
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join()


_all: WeakSet[Background] = WeakSet()


def _stop_all() -> None:
    """A thread that is within faiss while the interpreter is taken down would crash it."""
    for one in list(_all):
        one.end()


atexit.register(_stop_all)


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
            _forks_all.add(self)


_adding = Lock()
_forks_all: WeakSet[OverForks] = WeakSet()
_held: list[OverForks] = []


def _before() -> None:
    _adding.acquire()
    _held.extend(sorted(_forks_all, key=lambda one: one.inner))
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
