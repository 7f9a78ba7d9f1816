"""Failures of tools as data: what went wrong, who was told, and whether that ends the task."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.errors import RunError
from crewgraph.lazy import lazy, lazy_module

if TYPE_CHECKING:
    from crewgraph.events import tool as tool_events
    from crewgraph.events.bus import crewai_event_bus
else:
    crewai_event_bus = lazy("crewgraph.events.bus:crewai_event_bus")
    tool_events = lazy_module("crewgraph.events.tool")

__all__ = [
    "ReportedFailure",
    "ToolExecutionFailedError",
    "ToolFailure",
    "ToolFailurePolicy",
    "ToolFailureReason",
    "ToolFailureRecord",
    "active_tool_failures",
    "collect_tool_failures",
    "detect_tool_failure",
    "emit_failure",
    "failure_from_exception",
    "handle_tool_failure",
    "merge_tool_failures",
    "record_of",
    "reportable_failure",
    "resolve_tool_failure_policy",
    "tool_failure_collector",
]


class ToolFailurePolicy(StrEnum):
    """What a failure of a tool means for the task."""

    IGNORE = "ignore"
    """The model is told, and nobody else."""

    WARN = "warn"
    """The model is told, and the output lists it."""

    RAISE = "raise"
    """The task fails."""


class ToolFailureReason(StrEnum):
    """Why a tool failed."""

    TOOL_REPORTED = "tool_reported"
    """The tool returned a `ToolFailure`."""

    EXCEPTION = "exception"
    """It raised."""

    MCP_ERROR = "mcp_error"
    """The server says so."""

    USAGE_LIMIT = "usage_limit"
    """It was used as often as it may be."""

    UNKNOWN_TOOL = "unknown_tool"
    """The agent has no such tool."""

    INVALID_INPUT = "invalid_input"
    """The arguments do not fit."""

    REPEATED_CALL = "repeated_call"
    """The same call was made just before."""


class ToolFailure(BaseModel):
    """What went wrong with a call; a tool may return one instead of a result."""

    model_config = ConfigDict(frozen=True)

    message: str
    """For the model, and for people."""

    reason: ToolFailureReason = ToolFailureReason.TOOL_REPORTED

    code: str | None = None
    """A short name of the fault, such as "429" or "TimeoutError"."""

    retryable: bool = False
    """Whether the same call may do better later."""

    details: dict[str, Any] = Field(default_factory=dict[str, Any])
    """More, for programs."""

    def as_agent_message(self) -> str:
        """What a model is told."""
        return f"{self.message} (code: {self.code})" if self.code else self.message


class ToolFailureRecord(BaseModel):
    """A failure with the call that it came of."""

    model_config = ConfigDict(frozen=True)

    tool_name: str
    failure: ToolFailure
    tool_args: dict[str, Any] | str | None = None
    agent_role: str | None = None
    task_name: str | None = None
    task_id: str | None = None

    @property
    def message(self) -> str:
        """What went wrong."""
        return self.failure.message

    def summary(self) -> str:
        """What went wrong where, in a line."""
        where = f" in the task `{self.task_name}`" if self.task_name else ""
        return f"the tool `{self.tool_name}` failed{where}: {self.failure.as_agent_message()}"


class ToolExecutionFailedError(RunError):
    """A tool failed whose policy is to fail the task."""

    def __init__(self, record: ToolFailureRecord) -> None:
        super().__init__(record.summary())
        self.record = record


class ReportedFailure(RunError):
    """A tool has returned a failure."""

    def __init__(self, failure: ToolFailure) -> None:
        super().__init__(failure.as_agent_message())
        self.failure = failure


_collected: ContextVar[list[ToolFailureRecord] | None] = ContextVar("crewgraph_tool_failures", default=None)


@contextmanager
def tool_failure_collector() -> Generator[list[ToolFailureRecord]]:
    """A list that the failures handled in this block are added to."""
    failures: list[ToolFailureRecord] = []
    token = _collected.set(failures)
    try:
        yield failures
    finally:
        _collected.reset(token)


def active_tool_failures() -> list[ToolFailureRecord] | None:
    """The list of the block around the caller; None where there is none."""
    return _collected.get()


def collect_tool_failures(agent: Any) -> list[ToolFailureRecord]:
    """The failures in the last work of an agent."""
    return list(getattr(agent, "last_tool_failures", None) or ())


def merge_tool_failures(*groups: list[ToolFailureRecord]) -> list[ToolFailureRecord]:
    """All of some lists, each once, in order."""
    merged: list[ToolFailureRecord] = []
    for record in (record for group in groups for record in group):
        if record not in merged:
            merged.append(record)
    return merged


def detect_tool_failure(result: Any) -> ToolFailure | None:
    """The failure that a tool returned, if it did."""
    return result if isinstance(result, ToolFailure) else None


def failure_from_exception(error: BaseException, *, retryable: bool = False) -> ToolFailure:
    """A failure that tells of an exception."""
    kind = type(error).__name__
    return ToolFailure(message=str(error) or kind, reason=ToolFailureReason.EXCEPTION, code=kind, retryable=retryable)


def resolve_tool_failure_policy(
    tool: Any = None, agent: Any = None, task: Any = None, crew: Any = None
) -> ToolFailurePolicy:
    """The policy that holds: the tool's own, else the task's, the agent's, the crew's, else to warn."""
    policies = (getattr(owner, "tool_failure_policy", None) for owner in (tool, task, agent, crew))
    return next((ToolFailurePolicy(policy) for policy in policies if policy is not None), ToolFailurePolicy.WARN)


def reportable_failure(
    failure: ToolFailure | None, *, tool: Any = None, agent: Any = None, task: Any = None, crew: Any = None
) -> ToolFailure | None:
    """The failure, unless there is none or the policy is to ignore it."""
    ignored = resolve_tool_failure_policy(tool, agent, task, crew) is ToolFailurePolicy.IGNORE
    return None if ignored else failure


def record_of(
    failure: ToolFailure, tool_name: str, tool_args: dict[str, Any] | str | None, agent: Any, task: Any
) -> ToolFailureRecord:
    """A failure with who called what."""
    task_id = getattr(task, "id", None)
    return ToolFailureRecord(
        tool_name=tool_name,
        failure=failure,
        tool_args=tool_args,
        agent_role=getattr(agent, "role", None),
        task_name=None if task is None else getattr(task, "name", None) or getattr(task, "description", None),
        task_id=None if task_id is None else str(task_id),
    )


def emit_failure(record: ToolFailureRecord, policy: ToolFailurePolicy, tool: Any, agent: Any, task: Any) -> None:
    """Tell the audience of events."""
    event = tool_events.ToolFailureDetectedEvent
    if crewai_event_bus.wants(event):
        detected = event(
            tool_name=record.tool_name,
            tool_args={} if record.tool_args is None else record.tool_args,
            tool_class=None if tool is None else type(tool).__name__,
            agent=agent,
            agent_key=getattr(agent, "key", None),
            from_agent=agent,
            from_task=task,
            failure=record.failure,
            policy=policy,
        )
        crewai_event_bus.emit(agent, detected)


def handle_tool_failure(
    failure: ToolFailure,
    *,
    tool_name: str,
    tool_args: dict[str, Any] | str | None = None,
    tool: Any = None,
    agent: Any = None,
    task: Any = None,
    crew: Any = None,
) -> ToolFailureRecord | None:
    """Do with a failure what the policy says: tell of it and add it to the list of the block around; None where it is ignored.

    Raises:
        ToolExecutionFailedError: the policy is to raise.
    """
    policy = resolve_tool_failure_policy(tool, agent, task, crew)
    if policy is ToolFailurePolicy.IGNORE:
        return None
    record = record_of(failure, tool_name, tool_args, agent, task)
    emit_failure(record, policy, tool, agent, task)
    collected = _collected.get()
    if collected is not None:
        collected.append(record)
    if policy is ToolFailurePolicy.RAISE:
        raise ToolExecutionFailedError(record)
    return record
