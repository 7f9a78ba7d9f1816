"""Crossing between sync and async: an async tool in a sync run, a sync tool in an async run."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

__all__ = ["Crossing", "closed", "in_thread", "wait_for"]

_T = TypeVar("_T")


def wait_for(awaitable: Awaitable[_T]) -> _T:
    """Wait for something async where nothing can be awaited, even while this thread's loop runs."""

    async def whole() -> _T:
        return await awaitable

    if not _has_running_loop():
        return asyncio.run(whole())
    with ThreadPoolExecutor(1, "crewgraph-await") as pool:
        return pool.submit(copy_context().run, asyncio.run, whole()).result()


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def in_thread(function: Callable[[], _T]) -> _T:
    """Call something that blocks in a thread of its own, with this context.

    A thread each, because the event loop's own pool has as few as five and a tool may wait for another tool.
    """
    pool = ThreadPoolExecutor(1, "crewgraph-tool")
    try:
        loop = asyncio.get_running_loop()
        context = copy_context()
        return await loop.run_in_executor(pool, lambda: context.run(lambda: closed(function)))
    finally:
        pool.shutdown(wait=False)


def closed(function: Callable[[], _T]) -> _T:
    """Call a function; a StopIteration, which futures and generators cannot carry, becomes a RuntimeError."""
    try:
        return function()
    except StopIteration as error:
        raise RuntimeError(f"StopIteration was raised: {error}") from error


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """The two ways across; whoever runs graphs may give its own."""

    await_: Callable[[Awaitable[Any]], Any] = wait_for
    """Waits in a sync run for something async."""

    in_thread: Callable[[Callable[[], Any]], Awaitable[Any]] = in_thread
    """Calls something that blocks in an async run; must carry the context into the thread."""

    def call(self, function: Callable[..., Any], arguments: dict[str, Any], *args: Any) -> Any:
        """Call a function of either kind in a sync run."""
        value = closed(partial(function, *args, **arguments))
        return self.await_(value) if inspect.isawaitable(value) else value

    async def acall(self, function: Callable[..., Any], arguments: dict[str, Any], *args: Any) -> Any:
        """Call a function of either kind in an async run."""
        if inspect.iscoroutinefunction(function):
            return await function(*args, **arguments)
        value = await self.in_thread(partial(function, *args, **arguments))
        return await value if inspect.isawaitable(value) else value
