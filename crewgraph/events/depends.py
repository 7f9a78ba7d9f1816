"""Handlers that must be done before another begins."""

from collections.abc import Callable, Sequence
from typing import Any

from crewgraph.errors import DefinitionError

__all__ = ["CircularDependencyError", "Depends", "Handler", "handler_name"]

Handler = Callable[[Any, Any], Any]
"""What is called with the source of an event and the event; it may be an `async def`."""


def handler_name(handler: Handler) -> str:
    """The handler's name for messages."""
    function = getattr(handler, "func", handler)  # functools.partial
    return str(getattr(function, "__qualname__", type(function).__qualname__))


class Depends:
    """A handler that must be done before the one it is given to begins.

    @bus.on(TaskCompletedEvent, depends_on=Depends(store))
    def announce(source, event): ...
    """

    handler: Handler
    """The handler to wait for."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Depends) and self.handler == other.handler

    def __hash__(self) -> int:
        return hash(self.handler)

    def __repr__(self) -> str:
        return f"Depends({handler_name(self.handler)})"


class CircularDependencyError(DefinitionError):
    """Event handlers wait for one another, so none of them can begin."""

    handlers: list[Handler]
    """The handlers."""

    def __init__(self, handlers: Sequence[Handler]) -> None:
        self.handlers = list(handlers)
        names = ", ".join(f"`{handler_name(one)}`" for one in self.handlers)
        super().__init__(f"The event handlers {names} wait for one another. Take away one `depends_on` of the circle.")
