"""Listening to events for as long as somebody is there to hear them."""

from collections.abc import Callable
from typing import Any
from weakref import WeakMethod, finalize

from crewgraph.events import BaseEvent
from crewgraph.events.bus import EventBus

__all__ = ["Listening"]


class Listening:
    """Methods of an object that are called for events until it is gone, or this is closed.

    Args:
        owner: whose methods they are.
        bus: where they listen.
    """

    def __init__(self, owner: object, bus: EventBus) -> None:
        self._bus = bus
        self._handlers: list[tuple[type[BaseEvent], Callable[..., Any]]] = []
        self._gone = finalize(owner, _forget, bus, self._handlers)
        self._gone.atexit = False

    def to(self, event: type[BaseEvent], method: Callable[[Any, Any], None]) -> None:
        """Have a method called for a class of events."""
        held = WeakMethod(method)

        def hear(source: Any, heard: BaseEvent) -> None:
            if (alive := held()) is not None:
                alive(source, heard)

        self._add(event, hear)

    def waiting(self, event: type[BaseEvent], method: Callable[[], Any]) -> None:
        """Have what a method gives awaited behind a class of events, by whoever waits for all listeners."""
        held = WeakMethod(method)

        async def wait(source: Any, heard: BaseEvent) -> None:
            if (alive := held()) is not None:
                await alive()

        self._add(event, wait)

    def close(self) -> None:
        """Hear no more."""
        self._gone()

    def _add(self, event: type[BaseEvent], handler: Callable[..., Any]) -> None:
        self._handlers.append((event, handler))
        self._bus.register_handler(event, handler, alone=True)


def _forget(bus: EventBus, handlers: list[tuple[type[BaseEvent], Callable[..., Any]]]) -> None:
    for event, handler in handlers:
        bus.off(event, handler)
    handlers.clear()
