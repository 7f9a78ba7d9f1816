"""A flow's run told item by item while it goes on; and in CrewAI's form, as pieces of answers with the result behind them."""

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing
from typing import Any

from crewgraph.definitions.chunks import FlowStreamingOutput, StreamChunk
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.flow.stream import FlowFinished, FlowPaused
from crewgraph.definitions.stream import StreamItem, Token, ToolCallToken
from crewgraph.events.pieces import Ended
from crewgraph.runtime.chunks import chunk_of
from crewgraph.runtime.flow import run_of
from crewgraph.runtime.flow_audience import FlowAudience
from crewgraph.runtime.stream import astreamed, streamed

__all__ = ["achunked", "astream", "chunked", "stream"]


def stream(flow: "Flow[Any]", inputs: dict[str, Any], feedback: Any) -> Generator[StreamItem]:
    """Run a flow and tell of it; see `Flow.stream`."""
    return streamed(run_of(flow, inputs, feedback), FlowAudience(flow))


def astream(flow: "Flow[Any]", inputs: dict[str, Any], feedback: Any) -> AsyncGenerator[StreamItem]:
    """Run a flow on this event loop and tell of it; see `Flow.astream`."""
    return astreamed(run_of(flow, inputs, feedback), FlowAudience(flow))


def chunked(flow: "Flow[Any]", inputs: dict[str, Any]) -> FlowStreamingOutput:
    """What `kickoff` returns for a flow that streams."""
    audience = FlowAudience(flow)

    def pieces() -> Generator[StreamChunk | Ended]:
        with closing(streamed(run_of(flow, inputs, None), audience)) as items:
            for item in items:
                yield from _pieces(audience, item)

    return FlowStreamingOutput(sync_iterator=pieces())


def achunked(flow: "Flow[Any]", inputs: dict[str, Any]) -> FlowStreamingOutput:
    """What `kickoff_async` returns for a flow that streams."""
    audience = FlowAudience(flow)

    async def pieces() -> AsyncGenerator[StreamChunk | Ended]:
        async with aclosing(astreamed(run_of(flow, inputs, None), audience)) as items:
            async for item in items:
                for piece in _pieces(audience, item):
                    yield piece

    return FlowStreamingOutput(async_iterator=pieces())


def _pieces(audience: FlowAudience, item: StreamItem) -> Generator[StreamChunk | Ended]:
    """The chunk for an item, or the result; nothing for the others."""
    if isinstance(item, (Token, ToolCallToken)):
        yield chunk_of(item, audience.about(item))
    elif isinstance(item, FlowFinished):
        yield Ended(item.result)
    elif isinstance(item, FlowPaused):
        yield Ended(item.pending)
