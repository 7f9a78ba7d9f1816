"""A flow's run as frames, one for each event."""

from typing import Any

from crewgraph.definitions.flow.flow import Flow
from crewgraph.events.base import BaseEvent
from crewgraph.events.frame import frame_of
from crewgraph.events.pieces import Ended
from crewgraph.events.stream_session import AsyncStreamSession, StreamSession
from crewgraph.runtime.audience import Audience
from crewgraph.runtime.flow import run_of
from crewgraph.runtime.stream import astreamed, streamed

__all__ = ["aframes", "frames"]


class _Frames(Audience):
    """Is told of every event."""

    def item(self, source: Any, event: BaseEvent) -> Any:
        return frame_of(event)

    def last(self, ended: Any) -> Any:
        return Ended(ended)


def frames(flow: "Flow[Any]", inputs: dict[str, Any]) -> StreamSession[Any]:
    """Run a flow and tell its events; see `Flow.stream_events`."""
    told: Any = streamed(run_of(flow, inputs, None), _Frames())
    return StreamSession(sync_iterator=told)


def aframes(flow: "Flow[Any]", inputs: dict[str, Any]) -> AsyncStreamSession[Any]:
    """Run a flow on this event loop and tell its events; see `Flow.astream_events`."""
    told: Any = astreamed(run_of(flow, inputs, None), _Frames())
    return AsyncStreamSession(async_iterator=told)
