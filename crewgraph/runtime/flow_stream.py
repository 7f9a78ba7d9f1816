"""A flow's run told item by item, while it goes on."""

from collections.abc import AsyncGenerator, Generator
from typing import Any

from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.stream import StreamItem
from crewgraph.runtime.flow import run_of
from crewgraph.runtime.flow_audience import FlowAudience
from crewgraph.runtime.stream import astreamed, streamed

__all__ = ["astream", "stream"]


def stream(flow: "Flow[Any]", inputs: dict[str, Any], feedback: Any) -> Generator[StreamItem]:
    """Run a flow and tell of it; see `Flow.stream`."""
    return streamed(run_of(flow, inputs, feedback), FlowAudience(flow))


def astream(flow: "Flow[Any]", inputs: dict[str, Any], feedback: Any) -> AsyncGenerator[StreamItem]:
    """Run a flow on this event loop and tell of it; see `Flow.astream`."""
    return astreamed(run_of(flow, inputs, feedback), FlowAudience(flow))
