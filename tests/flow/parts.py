"""Short ways to run flows."""

from typing import Any

from modes import Mode

from crewgraph.flow import Flow

__all__ = ["kickoff", "resume"]


def kickoff(mode: Mode, flow: "Flow[Any]", inputs: dict[str, Any] | None = None) -> Any:
    """What a run of the flow returns."""
    return mode.run(flow.kickoff, flow.kickoff_async, inputs)


def resume(mode: Mode, flow: "Flow[Any]", flow_id: str, feedback: Any = None) -> Any:
    """What a run that goes on returns."""
    return mode.run(flow.resume, flow.aresume, flow_id, feedback)
