"""Listeners of one run: told of every event that the code of a context emits, whatever else runs in the process.

The bus serves the whole process; a sink hears only the code that inherited the context it was added in, which is that of the
runs begun there with their threads and tasks.
"""

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, Protocol

from crewgraph.events.base import BaseEvent
from crewgraph.events.lineage import place

__all__ = [
    "SINKS",
    "WITNESSES",
    "StreamSink",
    "Witness",
    "add_stream_sink",
    "publish_stream_event",
    "reset_stream_sinks",
]


StreamSink = Callable[[Any, BaseEvent], None]
"""Takes the source of an event and the event."""

SINKS: ContextVar[tuple[StreamSink, ...]] = ContextVar("crewgraph_stream_sinks", default=())
"""The sinks of the running code."""


class Witness(Protocol):
    """Hears some of what the code of a context emits; models do not stream because of it."""

    def wants(self, event_type: type[BaseEvent], /) -> bool:
        """Whether it receives events of this class."""
        ...

    def hear(self, source: object, event: BaseEvent, /) -> None:
        """Something happened."""
        ...


WITNESSES: ContextVar[tuple[Witness, ...]] = ContextVar("crewgraph_event_witnesses", default=())
"""The witnesses of the running code."""


def add_stream_sink(sink: StreamSink) -> Token[tuple[StreamSink, ...]]:
    """Let a sink hear what the code of this context emits from now on; models are asked to stream for it.

    Returns:
        What `reset_stream_sinks` takes it back with.
    """
    return SINKS.set((*SINKS.get(), sink))


def reset_stream_sinks(token: Token[tuple[StreamSink, ...]]) -> None:
    """Take a sink back, in the context it was added in."""
    SINKS.reset(token)


def publish_stream_event(source: object, event: BaseEvent) -> None:
    """Bring an event to the sinks of this context alone."""
    place(event)
    for sink in SINKS.get():
        sink(source, event)
