"""Threads and event loops of our own that live as long as the process."""

import asyncio
import gc
import os
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from itertools import count
from typing import Any, ParamSpec, TypeVar

from crewgraph.core.cancellation import when_given_up
from crewgraph.core.interruption import interrupt_in

__all__ = ["GrowingThreadPool", "LoopThread", "ThreadPool", "TrackingThreadPool", "start_loop"]

P = ParamSpec("P")
T = TypeVar("T")

_PAUSE = 0.001


def start_loop(name: str) -> asyncio.AbstractEventLoop:
    """A loop that runs for as long as the process does.

    Args:
        name: the thread's name.
    """
    if _Collector.on_phase not in gc.callbacks:
        gc.callbacks.append(_Collector.on_phase)
    loop = asyncio.new_event_loop()
    threading.Thread(target=_run_forever, args=[loop], name=name, daemon=True).start()
    return loop


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    ended = False
    while not ended:
        loop.call_soon(_close_what_was_collected, loop)  # a loop puts its own hooks in place as it begins to run
        try:
            loop.run_forever()
            ended = True
        except (SystemExit, KeyboardInterrupt):
            pass  # raised by a task, which tells who awaits it; the other tasks continue


class _Collector:
    """Tracks whether the garbage collector is running, on any thread."""

    busy = False

    @staticmethod
    def on_phase(phase: str, _: dict[str, int]) -> None:
        _Collector.busy = phase == "start"


def _close_what_was_collected(loop: asyncio.AbstractEventLoop) -> None:
    """Close unreachable async generators only after the collector has visited all it found.

    A stream that is abandoned midway leaves a cluster of nested generators. Otherwise the loop starts to close the outermost one
    while the collector, on another thread, still visits the inner ones, finds them running and reports a ValueError.
    """
    hooks = sys.get_asyncgen_hooks()
    close = hooks.finalizer
    assert close is not None

    def finalize(left: AsyncGenerator[object, object]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(later, left)

    def later(left: AsyncGenerator[object, object]) -> None:
        if _Collector.busy:
            loop.call_later(_PAUSE, later, left)
        else:
            close(left)

    sys.set_asyncgen_hooks(hooks.firstiter, finalize)


class ThreadPool(Executor):
    """Threads for blocking calls, started when first needed, for pools that live as long as the process.

    A Ctrl-C while `ThreadPoolExecutor` starts a thread leaves one that it does not know, for which Python waits forever when it
    exits. Here the threads then end after what was submitted to them, and new ones take their place.

    Args:
        most: the maximum number of threads.
        name: the prefix of their names.
    """

    def __init__(self, most: int, name: str) -> None:
        self._new = partial(ThreadPoolExecutor, most, thread_name_prefix=name)
        self._pool = self._new()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in a thread."""
        pool = self._pool
        try:
            return pool.submit(fn, *args, **kwargs)
        except BaseException as error:
            if interrupt_in(error):
                self._pool = self._new()
                pool.shutdown(wait=False)
            raise

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no further calls."""
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


class TrackingThreadPool(ThreadPoolExecutor):
    """A pool of one run, whose calls see the context of their `submit`; it knows them before their threads start.

    An interruption while `ThreadPoolExecutor` starts a thread takes the place of the future, but the thread begins to work.

    Args:
        most: the maximum number of threads; by default, as many as `ThreadPoolExecutor` has.
        name: the prefix of their names.
    """

    def __init__(self, most: int | None, name: str) -> None:
        super().__init__(most, thread_name_prefix=name)
        self._works = set[Future[Any]]()
        self._process = os.getpid()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in a thread."""
        work = Future[T]()
        self._works.add(work)
        work.add_done_callback(self._works.discard)
        call = partial(copy_context().run, fn, *args, **kwargs)
        if os.getpid() == self._process:
            super().submit(_perform, work, call)
        else:  # a fork of the process has none of its threads
            _perform(work, call)
        return work

    def unfinished(self) -> list[Future[Any]]:
        """Return the calls that have not ended, begun or not."""
        return list(self._works)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no further calls."""
        if cancel_futures:
            for work in self.unfinished():
                work.cancel()
        super().shutdown(wait, cancel_futures=cancel_futures)


def _perform(work: Future[T], call: Callable[[], T]) -> None:
    try:
        if work.set_running_or_notify_cancel():
            work.set_result(call())
    except BaseException as error:  # noqa: BLE001 - raised by `result`
        work.set_exception(error)
    finally:
        del work, call  # the exception refers to this frame


class GrowingThreadPool(Executor):
    """As many threads as there are blocking calls at once; idle ones are used again.

    Each is a pool of one thread: in a larger `ThreadPoolExecutor` of Python 3.12, threads take work from those that are counted
    as idle, so that it starts hundreds for calls of which two run at once.

    Args:
        name: the prefix of their names.
    """

    def __init__(self, name: str) -> None:
        self._name, self._numbers = name, count()
        self._idle: deque[ThreadPool] = deque()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in a thread."""
        try:
            thread = self._idle.pop()
        except IndexError:
            thread = ThreadPool(1, f"{self._name}-{next(self._numbers)}")
        return thread.submit(self._call, thread, partial(fn, *args, **kwargs))

    def _call(self, thread: ThreadPool, function: Callable[[], T]) -> T:
        try:
            return function()
        finally:
            self._idle.append(thread)


class LoopThread:
    """A loop on which nothing blocks; started on first use, and again after a fork.

    Args:
        name: the thread's name.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self, work: Coroutine[object, object, T]) -> Future[T]:
        """Start some work in the caller's context without waiting; cancelling the future cancels it."""
        with self._lock:
            if self._loop is None:
                self._loop = start_loop(self._name)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the loop and return its result; blocks this thread, which must not be the loop's."""
        future = self.begin(work)

        def cancel() -> None:
            future.cancel()

        try:
            with when_given_up(cancel):
                return future.result()
        except BaseException:  # also KeyboardInterrupt: the awaited work must not continue alone
            cancel()
            raise

    async def arun(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the loop and return its result, from any running event loop."""
        return await asyncio.wrap_future(self.begin(work))
