"""Listeners of one run, which receive the events emitted in a context, whatever else runs in the process.

The bus serves the whole process; a sink receives only the events of code that inherited the context it was added in: the
runs started there, with their threads and tasks.
"""

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, Protocol

from crewgraph.events.base import BaseEvent
from crewgraph.events.lineage import assign_lineage
from crewgraph.scoped import give_back

__all__ = [
    "CONTEXT_LISTENERS",
    "SINKS",
    "ContextListener",
    "StreamSink",
    "add_stream_sink",
    "publish_stream_event",
    "reset_stream_sinks",
]


StreamSink = Callable[[Any, BaseEvent], None]
"""Takes the source of an event and the event."""

SINKS: ContextVar[tuple[StreamSink, ...]] = ContextVar("crewgraph_stream_sinks", default=())
"""The sinks of the running code."""


class ContextListener(Protocol):
    """Receives some events of a context; unlike sinks, it does not make models stream."""

    def wants(self, event_type: type[BaseEvent], /) -> bool:
        """Whether it receives events of this class."""
        ...

    def on_event(self, source: object, event: BaseEvent, /) -> None:
        """Handle an event."""
        ...


CONTEXT_LISTENERS: ContextVar[tuple[ContextListener, ...]] = ContextVar("crewgraph_context_listeners", default=())
"""The listeners of the running code."""


def add_stream_sink(sink: StreamSink) -> Token[tuple[StreamSink, ...]]:
    """Add a sink for the events that the code of this context emits from now on; models stream for it.

    Returns:
        The token for `reset_stream_sinks`.
    """
    return SINKS.set((*SINKS.get(), sink))


def reset_stream_sinks(token: Token[tuple[StreamSink, ...]]) -> None:
    """Remove a sink, in the context it was added in."""
    give_back(token)


def publish_stream_event(source: object, event: BaseEvent) -> None:
    """Deliver an event only to the sinks of this context."""
    assign_lineage(event)
    for sink in SINKS.get():
        sink(source, event)
