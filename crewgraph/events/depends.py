"""Handlers that must be done before another begins."""

import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any, cast

from crewgraph.errors import DefinitionError

__all__ = ["RUNTIME_STATE", "CircularDependencyError", "Depends", "GivenHandler", "Handler", "called", "handler_name"]

Handler = Callable[[Any, Any], Any]
"""What is called with the source of an event and the event; it may be an `async def`."""

GivenHandler = Handler | Callable[[Any, Any, Any], Any]
"""A handler as users give it: one that takes three arguments is given the `RuntimeState` of the run, too."""

RUNTIME_STATE: ContextVar[Any] = ContextVar("crewgraph_runtime_state", default=None)
"""What is at work in the running code, as a `RuntimeState`; None where nobody asked for one."""


def called(given: GivenHandler) -> Handler:
    """A handler as it is called, with the source and the event."""
    try:
        parameters = inspect.signature(given).parameters.values()
    except (TypeError, ValueError):  # something built in
        return cast("Handler", given)
    needed = [one for one in parameters if one.default is one.empty and one.kind in _BY_PLACE]
    if len(needed) != _WITH_STATE:
        return cast("Handler", given)
    handler = cast("Callable[[Any, Any, Any], Any]", given)

    @wraps(handler)
    def with_state(source: Any, event: Any) -> Any:
        return handler(source, event, RUNTIME_STATE.get())

    return with_state


_WITH_STATE = 3
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


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
