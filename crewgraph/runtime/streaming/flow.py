"""Watched runs of flows: as items, in CrewAI's form as pieces of answers, and as frames, one for each event."""

from collections.abc import AsyncGenerator, Generator
from typing import Any

from crewgraph.definitions.chunks import FlowStreamingOutput
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.stream import StreamItem
from crewgraph.events.base import BaseEvent
from crewgraph.events.frames import AsyncStreamSession, Ended, StreamSession, frame_of
from crewgraph.runtime.flow.kickoff import run_of
from crewgraph.runtime.streaming.audience import Audience
from crewgraph.runtime.streaming.flow_audience import FlowAudience
from crewgraph.runtime.streaming.watched import WatchedRun

__all__ = ["aflow_chunks", "aframes", "astream_flow", "flow_chunks", "frames", "stream_flow"]


class _Frames(Audience):
    """Hears of every event."""

    def item(self, source: object, event: BaseEvent) -> Any:
        return frame_of(event)

    def last(self, ended: object) -> Any:
        return Ended(ended)


def _watched(flow: "Flow", inputs: dict[str, Any], feedback: object = None) -> WatchedRun:
    return WatchedRun(run_of(flow, inputs, feedback), FlowAudience(flow))


def stream_flow(flow: "Flow", inputs: dict[str, Any], feedback: object) -> Generator[StreamItem]:
    """Run a flow and report on it; see `Flow.stream`."""
    return _watched(flow, inputs, feedback).items()


def astream_flow(flow: "Flow", inputs: dict[str, Any], feedback: object) -> AsyncGenerator[StreamItem]:
    """Run a flow on this event loop and report on it; see `Flow.astream`."""
    return _watched(flow, inputs, feedback).aitems()


def flow_chunks(flow: "Flow", inputs: dict[str, Any]) -> FlowStreamingOutput:
    """What `kickoff` returns for a flow that streams."""
    return _watched(flow, inputs).chunks(FlowStreamingOutput)


def aflow_chunks(flow: "Flow", inputs: dict[str, Any]) -> FlowStreamingOutput:
    """What `kickoff_async` returns for a flow that streams."""
    return _watched(flow, inputs).achunks(FlowStreamingOutput)


def frames(flow: "Flow", inputs: dict[str, Any]) -> StreamSession[object]:
    """Run a flow and give its events; see `Flow.stream_events`."""
    return StreamSession(sync_iterator=WatchedRun(run_of(flow, inputs, None), _Frames()).items())


def aframes(flow: "Flow", inputs: dict[str, Any]) -> AsyncStreamSession[object]:
    """Run a flow on this event loop and give its events; see `Flow.astream_events`."""
    return AsyncStreamSession(async_iterator=WatchedRun(run_of(flow, inputs, None), _Frames()).aitems())
