"""Tool failures as data, their policies, and how they are reported."""

from contextvars import ContextVar
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.errors import RunError
from crewgraph.schema import PlainDict


class ToolFailurePolicy(StrEnum):
    """How a tool failure affects the task."""

    IGNORE = "ignore"
    """Only the model sees the failure."""

    WARN = "warn"
    """The model sees the failure, and the output lists it."""

    RAISE = "raise"
    """The task fails."""


class ToolFailureReason(StrEnum):
    """Why a tool failed."""

    TOOL_REPORTED = "tool_reported"
    """The tool returned a `ToolFailure`."""

    EXCEPTION = "exception"
    """The tool raised an exception."""

    MCP_ERROR = "mcp_error"
    """The MCP server reported an error."""

    USAGE_LIMIT = "usage_limit"
    """The tool was used `max_usage_count` times."""

    UNKNOWN_TOOL = "unknown_tool"
    """The agent has no such tool."""

    INVALID_INPUT = "invalid_input"
    """The arguments are invalid."""

    REPEATED_CALL = "repeated_call"
    """The call repeats the previous one."""


class ToolFailure(BaseModel, defer_build=True):
    """Describes a failed call; a tool may return one instead of a result."""

    model_config = ConfigDict(frozen=True)

    message: str
    """A description for the model and for people."""

    reason: ToolFailureReason = ToolFailureReason.TOOL_REPORTED

    code: str | None = None
    """A short error code, such as "429" or "TimeoutError"."""

    retryable: bool = False
    """Whether the same call may succeed later."""

    details: PlainDict = Field(default_factory=dict[str, Any])
    """Further data for programs."""

    def as_agent_message(self) -> str:
        """Return the text for the model."""
        return f"{self.message} (code: {self.code})" if self.code else self.message


class ToolFailureRecord(BaseModel, defer_build=True):
    """A failure, and the call that caused it."""

    model_config = ConfigDict(frozen=True)

    tool_name: str
    failure: ToolFailure
    tool_args: PlainDict | str | None = None
    agent_role: str | None = None
    task_name: str | None = None
    task_id: str | None = None

    @property
    def message(self) -> str:
        """The message of the failure."""
        return self.failure.message

    def summary(self) -> str:
        """Return a one-line summary with tool and task."""
        where = f" in the task `{self.task_name}`" if self.task_name else ""
        return f"the tool `{self.tool_name}` failed{where}: {self.failure.as_agent_message()}"


class ToolExecutionFailedError(RunError):
    """A tool with the policy `RAISE` failed."""

    def __init__(self, record: ToolFailureRecord) -> None:
        super().__init__(record.summary())
        self.record = record


class ReportedFailure(RunError):
    """A tool returned a `ToolFailure`."""

    def __init__(self, failure: ToolFailure) -> None:
        super().__init__(failure.as_agent_message())
        self.failure = failure


RAISED: ContextVar[list[Exception] | None] = ContextVar("crewgraph_raised", default=None)
"""The errors that tools raise, for code around the agent that handles them; None where nobody does."""


def merge_tool_failures(*groups: list[ToolFailureRecord]) -> list[ToolFailureRecord]:
    """Concatenate lists of failures without duplicates."""
    merged: list[ToolFailureRecord] = []
    for record in (record for group in groups for record in group):
        if record not in merged:
            merged.append(record)
    return merged


def resolve_tool_failure_policy(
    tool: object = None, agent: object = None, task: object = None, crew: object = None
) -> ToolFailurePolicy:
    """Return the first policy set on the tool, the task, the agent or the crew; `WARN` if none is set."""
    policies = (getattr(owner, "tool_failure_policy", None) for owner in (tool, task, agent, crew))
    return next((ToolFailurePolicy(policy) for policy in policies if policy is not None), ToolFailurePolicy.WARN)


def record_of(
    failure: ToolFailure, tool_name: str, tool_args: PlainDict | str | None, agent: object, task: object
) -> ToolFailureRecord:
    """Return the record of a failure and its call."""
    task_id = getattr(task, "id", None)
    return ToolFailureRecord(
        tool_name=tool_name,
        failure=failure,
        tool_args=tool_args,
        agent_role=getattr(agent, "role", None),
        task_name=None if task is None else getattr(task, "name", None) or getattr(task, "description", None),
        task_id=None if task_id is None else str(task_id),
    )
