"""Events of tool calls."""

from datetime import datetime
from typing import Any, ClassVar

from crewgraph.events.base import BaseEvent, WorkEvent
from crewgraph.schema import PlainDict

__all__ = [
    "ToolExecutionErrorEvent",
    "ToolFailureDetectedEvent",
    "ToolSelectionErrorEvent",
    "ToolUsageErrorEvent",
    "ToolUsageEvent",
    "ToolUsageFinishedEvent",
    "ToolUsageStartedEvent",
    "ToolValidateInputErrorEvent",
]


class ToolUsageEvent(WorkEvent):
    """An event of a tool call."""

    agent_key: str | None = None
    """The key of the agent, a digest of its role, goal and backstory."""

    tool_name: str
    """The tool, by the name a model calls it by."""

    tool_args: PlainDict | str
    """The arguments; text if the model wrote something other than a JSON object."""

    tool_class: str | None = None
    """The class of the tool."""

    run_attempts: int | None = 0
    """The number of earlier attempts of this call: 0, since a call is not repeated by itself."""

    delegations: int | None = None
    """The number of tasks that the agent has delegated."""

    agent: Any = None
    """The calling agent."""

    plan_step_number: int | None = None
    """The step of the agent's plan that it belongs to, if any."""

    plan_step_description: str | None = None
    """The description of the step."""

    _origin: ClassVar[str | None] = "agent"


class ToolUsageStartedEvent(ToolUsageEvent):
    """A tool call starts."""

    type: str = "tool_usage_started"


class ToolUsageFinishedEvent(ToolUsageEvent):
    """A tool call has completed."""

    type: str = "tool_usage_finished"

    started_at: datetime
    """When it began."""

    finished_at: datetime
    """When it ended."""

    from_cache: bool = False
    """Whether the result came from the cache."""

    output: Any
    """The result."""

    failure: Any = None
    """The `crewgraph.tools.failure.ToolFailure` that the tool returned, if any."""


class ToolUsageErrorEvent(ToolUsageEvent):
    """A tool call has failed."""

    type: str = "tool_usage_error"

    error: Any
    """The exception that the tool raised, or text if it was not called."""


class ToolFailureDetectedEvent(ToolUsageEvent):
    """A tool has failed, and the policy is not to ignore that."""

    type: str = "tool_failure_detected"

    failure: Any
    """The failure, a `crewgraph.tools.failure.ToolFailure`."""

    policy: str
    """The consequence for the task, a `ToolFailurePolicy`."""

    plan_step_number: int | None = None
    plan_step_description: str | None = None


class ToolValidateInputErrorEvent(ToolUsageEvent):
    """A tool was called with arguments it does not take."""

    type: str = "tool_validate_input_error"

    error: Any
    """The reason why they are invalid."""


class ToolSelectionErrorEvent(ToolUsageEvent):
    """A tool was called that the agent does not have."""

    type: str = "tool_selection_error"

    error: Any
    """The error."""


class ToolExecutionErrorEvent(BaseEvent):
    """A tool's own code raised an exception."""

    type: str = "tool_execution_error"

    error: Any
    """The exception."""

    tool_name: str
    """The tool, by the name a model calls it by."""

    tool_args: PlainDict
    """The arguments."""

    tool_class: Any
    """The tool's class or function."""

    agent: Any = None
    """The calling agent."""

    _origin: ClassVar[str | None] = "agent"
