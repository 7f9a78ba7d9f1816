"""Shortcuts to run flows."""

from collections.abc import Iterator
from typing import Any

from modes import Mode

from crewgraph import StreamItem
from crewgraph.flow import Flow

__all__ = ["kickoff", "resume", "stream_items"]


def kickoff(mode: Mode, flow: "Flow[Any]", inputs: dict[str, Any] | None = None) -> Any:
    """What a run of the flow returns."""
    return mode.run(flow.kickoff, flow.kickoff_async, inputs)


def resume(mode: Mode, flow: "Flow[Any]", flow_id: str, feedback: Any = None) -> Any:
    """What a run that goes on returns."""
    return mode.run(flow.resume, flow.aresume, flow_id, feedback)


def stream_items(
    mode: Mode, flow: "Flow[Any]", inputs: dict[str, Any] | None = None, **options: Any
) -> Iterator[StreamItem]:
    """What the flow's stream tells, as it tells it; closed with the iterator."""
    if not mode.asynchronous:
        return flow.stream(inputs, **options)
    return mode.turns(flow.astream(inputs, **options))
