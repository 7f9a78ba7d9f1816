"""Crossing between sync and async: an async tool in a sync run, a sync tool in an async run."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from crewgraph.core.bridge import closed, in_thread, wait_for

__all__ = ["Crossing"]


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
