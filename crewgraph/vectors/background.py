"""Work that is done beside what uses an index, in a thread that is there while there is something to do."""

import atexit
from collections.abc import Callable
from threading import Event, Lock, Thread
from time import sleep
from weakref import WeakSet

__all__ = ["Background"]

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
