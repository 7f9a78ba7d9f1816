"""Handlers of events, looked at and called one by one."""

import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol, TypeGuard, TypeVar, cast

from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import called

__all__ = [
    "AsyncHandler",
    "AsyncHandlerSet",
    "EventHandler",
    "SyncHandler",
    "SyncHandlerSet",
    "is_async_handler",
    "is_call_handler_safe",
]

SyncHandler = Callable[..., None]
"""Takes the source and the event, and perhaps the state of what runs."""

AsyncHandler = Callable[..., Coroutine[Any, Any, None]]
"""The same, as an `async def`."""

SyncHandlerSet = frozenset[SyncHandler]
"""Some of these."""

AsyncHandlerSet = frozenset[AsyncHandler]
"""Some of these."""

_E = TypeVar("_E", bound=BaseEvent, contravariant=True)


class EventHandler(Protocol[_E]):
    """What an event can be brought to."""

    def __call__(self, source: Any, event: _E) -> Coroutine[Any, Any, None] | None:
        """Something happened."""
        ...


def is_async_handler(handler: Any) -> TypeGuard[AsyncHandler]:
    """Whether a handler is an `async def`, or an object with one as its `__call__`."""
    function: Any = handler
    while isinstance(function, partial):
        function = cast("Any", function).func
    own: Any = getattr(function.__class__, "__call__", None)  # noqa: B004  (an object with an async `__call__`)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(own)


def is_call_handler_safe(handler: SyncHandler, source: Any, event: BaseEvent, state: Any = None) -> Exception | None:
    """Call a handler; what it raises is returned."""
    try:
        if called(handler) is handler:
            handler(source, event)
        else:
            handler(source, event, state)
    except Exception as error:  # noqa: BLE001 - given to the caller
        return error
    return None
