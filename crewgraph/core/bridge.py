"""Between sync and async: the only place that starts event loops and threads for single calls.

A sync run meets async functions (`wait_for`), an async run meets sync functions (`in_thread`). Context variables travel.
"""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

__all__ = ["in_thread", "wait_for"]

P = ParamSpec("P")
T = TypeVar("T")

_MANY = 1024
_lock = threading.Lock()
_threads: ThreadPoolExecutor | None = None
_loop: asyncio.AbstractEventLoop | None = None


def _pool() -> ThreadPoolExecutor:
    # The loop's default executor has cpu + 4 threads: blocking tools of many runs would wait for each other.
    global _threads
    with _lock:
        if _threads is None:
            _threads = ThreadPoolExecutor(_MANY, thread_name_prefix="crewgraph-call")
        return _threads


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking function beside the event loop."""
    context = contextvars.copy_context()
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_pool(), lambda: context.run(function, *args, **kwargs))


def _background() -> asyncio.AbstractEventLoop:
    # One loop for all: clients that keep connections (httpx, databases) are bound to the loop they were first used on.
    global _loop
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="crewgraph-loop", daemon=True).start()
        return _loop


def wait_for(awaitable: Awaitable[T]) -> T:
    """Wait for an awaitable from sync code, inside a running event loop or outside of any."""

    async def waited() -> T:
        return await awaitable

    loop = _background()
    if _running() is loop:
        # Sync code inside async work that a sync run waits for: its loop is busy with waiting, so another one has to do.
        return _in_new_loop(waited)
    context = contextvars.copy_context()
    done = threading.Event()
    task: list[asyncio.Task[T]] = []

    def start() -> None:
        task.append(loop.create_task(waited(), context=context))
        task[0].add_done_callback(lambda _: done.set())

    loop.call_soon_threadsafe(start)
    try:
        done.wait()
    except BaseException:  # KeyboardInterrupt: what is waited for must not go on alone
        loop.call_soon_threadsafe(lambda: task and task[0].cancel())
        raise
    return task[0].result()


def _in_new_loop(waited: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with ThreadPoolExecutor(1, thread_name_prefix="crewgraph-loop") as pool:
        context = contextvars.copy_context()
        return pool.submit(context.run, lambda: asyncio.run(waited())).result()


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
