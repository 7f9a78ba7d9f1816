"""Streamed runs of flows: as items, as CrewAI's chunks of answers, or as one frame for each event."""

from collections.abc import AsyncGenerator, Generator
from typing import Any

from langchain_core.runnables import RunnableConfig

from crewgraph.definitions.chunks import FlowStreamingOutput
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.stream import StreamItem
from crewgraph.events.base import BaseEvent
from crewgraph.events.frames import AsyncStreamSession, Ended, StreamSession, frame_of
from crewgraph.runtime.flow.kickoff import run_of
from crewgraph.runtime.streaming.audience import Audience
from crewgraph.runtime.streaming.flow_audience import FlowAudience
from crewgraph.runtime.streaming.watched import WatchedRun

__all__ = ["aflow_chunks", "aframes", "astream_flow", "flow_chunks", "frames", "stream_flow"]


class _FrameAudience(Audience):
    """Receives every event, as a frame."""

    def item(self, source: object, event: BaseEvent) -> Any:
        return frame_of(event)

    def final_item(self, result: object) -> Any:
        return Ended(result)


def _watched(
    flow: "FlowDefinition", inputs: dict[str, object], feedback: object = None, config: RunnableConfig | None = None
) -> WatchedRun:
    return WatchedRun(run_of(flow, inputs, feedback, config), FlowAudience(flow))


def stream_flow(
    flow: "FlowDefinition[Any]", inputs: dict[str, object], feedback: object, config: RunnableConfig | None = None
) -> Generator[StreamItem]:
    """Run a flow and yield its items; see `Flow.stream`."""
    return _watched(flow, inputs, feedback, config).items()


def astream_flow(
    flow: "FlowDefinition[Any]", inputs: dict[str, object], feedback: object, config: RunnableConfig | None = None
) -> AsyncGenerator[StreamItem]:
    """Run a flow on this event loop and yield its items; see `Flow.astream`."""
    return _watched(flow, inputs, feedback, config).aitems()


def flow_chunks(
    flow: "FlowDefinition[Any]", inputs: dict[str, object], config: RunnableConfig | None = None
) -> FlowStreamingOutput:
    """Return the output of `kickoff` for a flow with `stream=True`."""
    return _watched(flow, inputs, config=config).chunks(FlowStreamingOutput)


def aflow_chunks(
    flow: "FlowDefinition[Any]", inputs: dict[str, object], config: RunnableConfig | None = None
) -> FlowStreamingOutput:
    """Return the output of `kickoff_async` for a flow with `stream=True`."""
    return _watched(flow, inputs, config=config).achunks(FlowStreamingOutput)


def frames(flow: "FlowDefinition[Any]", inputs: dict[str, object]) -> StreamSession[object]:
    """Run a flow and yield its events; see `Flow.stream_events`."""
    return StreamSession(sync_iterator=WatchedRun(run_of(flow, inputs, None), _FrameAudience()).items())


def aframes(flow: "FlowDefinition[Any]", inputs: dict[str, object]) -> AsyncStreamSession[object]:
    """Run a flow on this event loop and yield its events; see `Flow.astream_events`."""
    return AsyncStreamSession(async_iterator=WatchedRun(run_of(flow, inputs, None), _FrameAudience()).aitems())
