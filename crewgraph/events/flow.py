"""What happens to a flow."""

from typing import Any

from crewgraph.events.base import BaseEvent

__all__ = [
    "FlowCreatedEvent",
    "FlowEvent",
    "FlowFinishedEvent",
    "FlowPlotEvent",
    "FlowStartedEvent",
    "MethodExecutionFailedEvent",
    "MethodExecutionFinishedEvent",
    "MethodExecutionStartedEvent",
]


class FlowEvent(BaseEvent):
    """Something that happened to a flow."""

    flow_name: str
    """The flow's name."""


class FlowCreatedEvent(FlowEvent):
    """A flow was made."""

    type: str = "flow_created"


class FlowStartedEvent(FlowEvent):
    """A flow begins to run."""

    type: str = "flow_started"

    inputs: dict[str, Any] | None = None
    """What its state begins with."""


class FlowFinishedEvent(FlowEvent):
    """A flow is done."""

    type: str = "flow_finished"

    result: Any = None
    """What its last method returned."""


class FlowPlotEvent(FlowEvent):
    """A flow was drawn."""

    type: str = "flow_plot"


class MethodExecutionStartedEvent(FlowEvent):
    """A method of a flow begins."""

    type: str = "method_execution_started"

    method_name: str
    """The method."""

    state: Any
    """The flow's state, a dict or a pydantic model."""

    params: dict[str, Any] | None = None
    """What the method is called with."""


class MethodExecutionFinishedEvent(FlowEvent):
    """A method of a flow has returned."""

    type: str = "method_execution_finished"

    method_name: str
    """The method."""

    result: Any = None
    """What it returned."""

    state: Any
    """The flow's state, a dict or a pydantic model."""


class MethodExecutionFailedEvent(FlowEvent):
    """A method of a flow has raised."""

    type: str = "method_execution_failed"

    method_name: str
    """The method."""

    error: Any
    """The exception."""
