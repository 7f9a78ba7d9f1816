"""Listeners of one run, which receive the events emitted in a context, whatever else runs in the process.

The bus serves the whole process; a sink receives only the events of code that inherited the context it was added in: the
runs started there, with their threads and tasks.
"""

from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar, Token
from typing import Any, NamedTuple, Protocol

from crewgraph.events.base import BaseEvent
from crewgraph.events.lineage import assign_lineage
from crewgraph.scoped import give_back

StreamSink = Callable[[Any, BaseEvent], None]
"""Takes the source of an event and the event."""


class ContextListener(Protocol):
    """Receives some events of a context; unlike sinks, it does not make models stream."""

    def wants(self, event_type: type[BaseEvent], /) -> bool:
        """Whether it receives events of this class."""
        ...

    def on_event(self, source: object, event: BaseEvent, /) -> None:
        """Handle an event."""
        ...


class Listening(NamedTuple):
    """Who receives the events of the running code besides the handlers on the bus."""

    sinks: tuple[StreamSink, ...] = ()
    """They receive all events, and models stream for them."""

    listeners: tuple[ContextListener, ...] = ()
    """They receive what they want."""

    state: Any = None
    """The `RuntimeState` for handlers that take one; None unless requested."""

    handled: Future[None] | None = None
    """Done when the `async def` handlers that the code belongs to are."""


LISTENING: ContextVar[Listening] = ContextVar("crewgraph_listening", default=Listening())
"""Who listens to the running code."""


def add_stream_sink(sink: StreamSink) -> Token[Listening]:
    """Add a sink for the events that the code of this context emits from now on; models stream for it.

    Returns:
        The token for `reset_stream_sinks`.
    """
    here = LISTENING.get()
    return LISTENING.set(here._replace(sinks=(*here.sinks, sink)))


def reset_stream_sinks(token: Token[Listening]) -> None:
    """Remove a sink, in the context it was added in."""
    give_back(token)


def publish_stream_event(source: object, event: BaseEvent) -> None:
    """Deliver an event only to the sinks of this context."""
    assign_lineage(event)
    for sink in LISTENING.get().sinks:
        sink(source, event)
