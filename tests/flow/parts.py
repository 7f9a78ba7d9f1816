"""Shortcuts to run flows."""

from collections.abc import Iterator
from typing import Any

from modes import Mode

from crewgraph import StreamItem
from crewgraph.flow import Flow

__all__ = ["kickoff", "resume", "stream_items"]


def kickoff(mode: Mode, flow: "Flow[Any]", inputs: dict[str, Any] | None = None) -> Any:
    """Run a flow and return its result."""
    return mode.run(flow.kickoff, flow.kickoff_async, inputs)


def resume(mode: Mode, flow: "Flow[Any]", flow_id: str, feedback: Any = None) -> Any:
    """Resume a run and return its result."""
    return mode.run(flow.resume, flow.aresume, flow_id, feedback)


def stream_items(
    mode: Mode, flow: "Flow[Any]", inputs: dict[str, Any] | None = None, **options: Any
) -> Iterator[StreamItem]:
    """Yield the items of a flow's stream; closing the iterator closes the stream."""
    if not mode.asynchronous:
        return flow.stream(inputs, **options)
    return mode.turns(flow.astream(inputs, **options))
