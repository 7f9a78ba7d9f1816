"""Between sync and async: the only place that starts event loops and threads for single calls.

A sync run meets async functions (`wait_for`), an async run meets sync functions (`in_thread`). Context variables travel.
"""

import asyncio
import contextvars
import inspect
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent import futures
from concurrent.futures import Future
from functools import partial
from typing import Any, ParamSpec, TypeVar

from crewgraph.core.cancellation import (
    ExitRequested,
    RunAbandoned,
    Underway,
    giving_up,
    when_given_up,
)
from crewgraph.core.current import CURRENT
from crewgraph.core.loops.threads import PATIENCE, ThreadPool, is_interrupted, start_loop
from crewgraph.scoped import HERE, give_back

P = ParamSpec("P")
T = TypeVar("T")

_WAKEUP_INTERVAL = 1.0  # seconds: a loop notices a Ctrl-C that arrives as it starts to wait only at its next event


class TimeIsUp(Exception):
    """A call took longer than its timeout."""


class _Workers:
    """Threads for blocking calls and a loop for async ones; started on first use, and again after a fork."""

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self._lock = threading.Lock()
        # The loop's own pool has cpu + 4 threads: blocking tools and models of many runs would wait for each other.
        self.threads = ThreadPool(None, "crewgraph-call")
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        # One loop for all: clients that keep connections (httpx, databases) are bound to the loop they were first used on.
        with self._lock:
            if self._loop is None:
                self._loop = start_loop("crewgraph-loop")
            return self._loop


_workers = _Workers()


def _contained(function: Callable[[], T]) -> T:
    """Call a function; what futures and generators cannot carry, because it ends a generator, becomes a RuntimeError."""
    try:
        return function()
    except (StopIteration, StopAsyncIteration, GeneratorExit) as error:
        raise _carried(error) from error


async def awaited(awaitable: Awaitable[T]) -> T:
    """Await code of others; what coroutines cannot carry becomes a RuntimeError.

    Whatever it raises while a lost run is ended, such as a cleanup that awaits, is a GeneratorExit.
    """
    here = HERE.set(None)
    # Python itself replaces a StopIteration, and a GeneratorExit is how it closes a coroutine.
    try:
        return await awaitable
    except BaseException as error:
        if not give_back(here):
            raise GeneratorExit from None
        if isinstance(error, StopAsyncIteration):
            raise _carried(error) from error
        raise


def _carried(error: BaseException) -> RuntimeError:
    return RuntimeError(f"{type(error).__name__} was raised: {error}".removesuffix(": "))


def outcome_of(function: Callable[[], T]) -> Future[T]:
    """Call a function, and return what it returned or raised.

    A future of asyncio would raise a TimeoutError of a thread without its traceback, and a CancelledError as its own, which
    would cancel the run.
    """
    outcome = Future[T]()
    try:
        outcome.set_result(_contained(function))
    except BaseException as error:  # noqa: BLE001 - raised by `result`
        outcome.set_exception(error)
    return outcome


async def in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking function in a thread off the event loop, in the caller's context.

    A cancellation stops waiting; for an effect that must be recorded it is delayed until the function has returned.
    """
    underway = CURRENT.get().underway
    with giving_up():
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(_workers.threads, outcome_of, serving(loop, partial(function, *args, **kwargs)))
        outcome = await (work if underway is None else ended(work, underway))
    return outcome.result()


async def outlasting(
    work: "asyncio.Future[T]", on_cancel: Callable[..., object] | None = None, *, raises: bool = False
) -> T:
    """Wait for the outcome of some work, whether this task is cancelled or not.

    Args:
        work: the work.
        on_cancel: called for each cancellation, with what it carries.
        raises: whether a cancellation is raised after the work has ended.
    """
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
            if on_cancel is not None:
                on_cancel(*error.args)
    result = work.result()
    if cancelled is not None and raises:
        raise cancelled
    return result


async def ended(work: "asyncio.Future[T]", underway: Underway, cut: Callable[[], object] | None = None) -> T:
    """Wait for a thread or task that works for an effect or its records, whether the run is cancelled or not.

    Args:
        work: its outcome.
        underway: the effect.
        cut: cancels the work, when a supervised run is cut.
    """
    underway.works += 1
    supervision, deadline = CURRENT.get().supervision, None
    try:
        while not work.done():
            try:
                await asyncio.wait([work], timeout=_WAKEUP_INTERVAL)
            except asyncio.CancelledError as error:
                if underway.is_given_up:
                    raise
                underway.request(*error.args)
                if cut is not None and supervision is not None and supervision.is_cut:
                    cut()
            if (supervision is None or supervision.is_cut) and is_interrupted() and not work.done():
                if deadline is None:
                    deadline = time.monotonic() + PATIENCE
                elif time.monotonic() >= deadline:
                    raise asyncio.CancelledError
        return work.result()
    finally:
        underway.works -= 1


async def to_its_end(work: Coroutine[object, object, T], underway: Underway) -> T:
    """Await an effect of a supervised run to its end, whether the run is cancelled or not; only a cut cancels it.

    Raises:
        ExitRequested: it was cancelled by its own code.
    """
    task = asyncio.ensure_future(work)
    try:
        return await ended(task, underway, task.cancel)
    except RunAbandoned:
        if not underway.is_requested:
            raise
        raise asyncio.CancelledError(*underway.reason) from None
    except asyncio.CancelledError as error:
        if underway.is_requested or not task.cancelled():
            raise
        raise ExitRequested(error) from None
    finally:
        task.cancel()


def off_loop(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that blocks for a moment; on an event loop, in a thread, for which the loop waits.

    For sync code that async runs reach and that cannot await: a server may refuse to let it block on the loop.
    """
    if _running() is None:
        return function(*args, **kwargs)
    return _workers.threads.submit(outcome_of, partial(function, *args, **kwargs)).result().result()


def refuses_blocking(error: BaseException) -> bool:
    """Whether a server has refused a blocking call on its event loop, as `langgraph dev` does with blockbuster."""
    return any(
        kind.__name__ == "BlockingError" and kind.__module__.startswith("blockbuster") for kind in type(error).__mro__
    )


def start_in_thread(function: Callable[[], T]) -> Future[T]:
    """Run a blocking function in a thread, in the caller's context, without waiting for it."""
    loop = _served_loop()
    return _workers.threads.submit(_contained, function if loop is None else serving(loop, function))


def wait_in_thread(function: Callable[[], T], seconds: float) -> T:
    """Run a blocking function in a thread, in the caller's context, and wait for it with a timeout.

    Raises:
        TimeIsUp: it still runs, and its result will be discarded; or there was no time left to start it.
    """
    if seconds <= 0:
        raise TimeIsUp
    with giving_up():
        future = start_in_thread(function)
        if not futures.wait([future], seconds).done:
            future.cancel()
            raise TimeIsUp
    return future.result()


async def wait_on_loop(work: Coroutine[object, object, T], seconds: float) -> T:
    """Wait for a coroutine with a timeout, then cancel it.

    Raises:
        TimeIsUp: it did not end in time; a thread it waits for continues, and its result is discarded. Or there was no time left
            to start it.
    """
    if seconds <= 0:
        work.close()
        raise TimeIsUp
    task, underway = asyncio.ensure_future(work), CURRENT.get().underway
    deadline = time.monotonic() + seconds
    try:
        while not task.done() and (left := deadline - time.monotonic()) > 0:
            try:
                await asyncio.wait([task], timeout=left)
            except asyncio.CancelledError:
                if underway is None or not underway.works:
                    raise
                task.cancel()  # what works for it decides whether that cuts it
    finally:
        if not task.done() and not task.get_loop().is_closed():
            if underway is not None:
                underway.is_given_up = True
            task.cancel()
    if not task.done():
        raise TimeIsUp
    return task.result()


def call(function: Callable[..., Any], /, *args: Any, **kwargs: object) -> Any:
    """Call a user's function of either kind, sync or async, in sync code; with `acall`, the only way to call one.

    What is awaitable is awaited: on the loop of the async run whose thread this is, else on a loop of our own.
    """
    value = _contained(partial(function, *args, **kwargs))
    return wait_for(value) if inspect.isawaitable(value) else value


def resolved(value: Any) -> Any:
    """Return what a function of either kind has returned to sync code, awaited if it is awaitable."""
    return wait_for(value) if inspect.isawaitable(value) else value


async def acall(function: Callable[..., Any], /, *args: Any, **kwargs: object) -> Any:
    """Call a user's function of either kind, sync or async, in an async run; a sync one runs in a thread."""
    is_async = inspect.iscoroutinefunction(function)
    return await _settled(function(*args, **kwargs) if is_async else await in_thread(function, *args, **kwargs))


async def _settled(value: Any) -> Any:
    while inspect.isawaitable(value):  # an async default of a base class may return what an async override returned
        settled = await awaited(value)
        if settled is value:  # the output of an agent, which may be awaited as well
            break
        value = settled
    return value


_thread = threading.local()


def serving(loop: asyncio.AbstractEventLoop, function: Callable[[], T]) -> Callable[[], T]:
    """Return a function for a thread that `loop` waits for: its async calls are awaited on that loop."""

    def served() -> T:
        _thread.loop = loop
        try:
            return function()
        finally:
            _thread.loop = None

    return served


def _served_loop() -> asyncio.AbstractEventLoop | None:
    loop: asyncio.AbstractEventLoop | None = getattr(_thread, "loop", None)
    return loop if loop is not None and loop.is_running() else None


def wait_for(awaitable: Awaitable[T]) -> T:
    """Wait for an awaitable from sync code, inside a running event loop or outside of any.

    Raises:
        RuntimeError: the loop of the async run stopped meanwhile.
    """
    waited = partial(_settled, awaitable)
    loop = _free_loop()
    if loop is None:
        return _in_new_loop(waited)
    context = contextvars.copy_context()
    context.run(CURRENT.set, CURRENT.get()._replace(loop=loop))
    done = threading.Event()
    task: list[asyncio.Task[T]] = []

    def ended(_: object) -> None:
        if inspect.iscoroutine(awaitable):
            awaitable.close()  # abandoned before its first step, it was never awaited
        done.set()

    def start() -> None:
        task.append(loop.create_task(waited(), context=context))
        task[0].add_done_callback(ended)

    def leave() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(lambda: task and task[0].cancel())

    loop.call_soon_threadsafe(start)
    try:
        with when_given_up(leave):
            while not done.wait(_WAKEUP_INTERVAL):
                if not loop.is_running():
                    raise RuntimeError("the event loop of the run was stopped before an async call had ended")
    except BaseException:  # on KeyboardInterrupt, the awaited work must not continue alone
        leave()
        raise
    return task[0].result()


def _free_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop for async code that this thread waits for; None for a new one."""
    served = _served_loop()
    if served is not None:
        return served
    # Sync code inside async work that sync code waits for, or in a thread of it: our loop may be busy with waiting.
    return None if _workers.loop in (_running(), CURRENT.get().loop) else _workers.loop


def _in_new_loop(waited: Callable[[], Coroutine[object, object, T]]) -> T:
    return _workers.threads.submit(lambda: asyncio.run(waited())).result()


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
