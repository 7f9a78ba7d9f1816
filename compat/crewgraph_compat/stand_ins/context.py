"""The context of the running code: the task, the flow, the crew, and the name of the run."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, Field

from crewgraph.compiler.task.briefing import CURRENT_TASK
from crewgraph.compiler.task.events import NOTES
from crewgraph.definitions.flow.state import current_flow_id, current_flow_method_name, current_flow_request_id
from crewgraph.events import lineage
from crewgraph.events.lineage import run_id
from crewgraph.scoped import give_back, scoped

__all__ = [
    "CrewContext",
    "ExecutionContext",
    "ExecutionTrace",
    "apply_execution_context",
    "begin_execution",
    "capture_execution_context",
    "clear_execution_uuid",
    "end_execution",
    "get_crew_context",
    "get_current_task_id",
    "get_execution_uuid",
    "get_platform_integration_token",
    "platform_context",
    "reset_current_task_id",
    "set_current_task_id",
    "set_execution_uuid",
    "set_platform_integration_token",
]


_TOKEN: ContextVar[str | None] = ContextVar("crewgraph_compat_platform_token", default=None)
_TASK: ContextVar[str | None] = ContextVar("crewgraph_compat_task", default=None)
_VARIABLE = "CREWAI_PLATFORM_INTEGRATION_TOKEN"


class ExecutionContext(BaseModel):
    """The execution context as data."""

    current_task_id: str | None = None
    """The id of the current task."""

    flow_request_id: str | None = None
    """The id of the current flow run."""

    flow_id: str | None = None
    """An alias of the flow id."""

    flow_method_name: str = "unknown"
    """The current flow method."""

    event_id_stack: tuple[tuple[str, str], ...] = Field(default_factory=tuple)
    """The open event scopes as pairs of id and type, innermost last."""

    last_event_id: str | None = None
    """The id of the last emitted event."""

    triggering_event_id: str | None = None
    """The id of the event that triggered the code."""

    emission_sequence: int = 0
    """The number of events that the run has emitted."""

    feedback_callback_info: dict[str, Any] | None = None
    """The information for a feedback provider."""

    platform_token: str | None = None
    """The token of the hosted platform."""


def capture_execution_context(feedback_callback_info: dict[str, Any] | None = None) -> ExecutionContext:
    """Return the current execution context."""
    scopes, trigger = lineage.current_lineage()
    return ExecutionContext(
        current_task_id=get_current_task_id(),
        flow_request_id=current_flow_request_id.get(),
        flow_id=current_flow_id.get(),
        flow_method_name=current_flow_method_name.get() or "unknown",
        event_id_stack=scopes,
        last_event_id=lineage.last_event(),
        triggering_event_id=trigger,
        emission_sequence=lineage.latest_number(),
        feedback_callback_info=feedback_callback_info,
        platform_token=_TOKEN.get(),
    )


def apply_execution_context(ctx: ExecutionContext | Mapping[str, Any]) -> None:
    """Replace the current execution context."""
    context = ctx if isinstance(ctx, ExecutionContext) else ExecutionContext.model_validate(ctx)
    _TASK.set(context.current_task_id)
    current_flow_request_id.set(context.flow_request_id)
    current_flow_id.set(context.flow_id)
    current_flow_method_name.set(context.flow_method_name)
    lineage.restore_scopes(context.event_id_stack)
    lineage.set_trigger(context.triggering_event_id)
    lineage.set_last_event(context.last_event_id)
    lineage.set_number(context.emission_sequence)
    _TOKEN.set(context.platform_token)


def get_current_task_id() -> str | None:
    """Return the id of the current task: the one that was set, or else the one being executed."""
    own_id = _TASK.get()
    if own_id is not None:
        return own_id
    task = CURRENT_TASK.get()
    return None if task is None else str(task.id)


def set_current_task_id(task_id: str | None) -> Token[str | None]:
    """Set the id of the current task; undo it with `reset_current_task_id`."""
    return _TASK.set(task_id)


def reset_current_task_id(token: Token[str | None]) -> None:
    """Restore the previous task id."""
    give_back(token)


def get_platform_integration_token() -> str | None:
    """Return the platform token: the one that was set, or else CREWAI_PLATFORM_INTEGRATION_TOKEN."""
    return _TOKEN.get() or os.environ.get(_VARIABLE)


def set_platform_integration_token(integration_token: str) -> None:
    """Set the platform token for this context."""
    _TOKEN.set(integration_token)


def platform_context(integration_token: str) -> AbstractContextManager[None]:
    """Use another token within the block."""
    return scoped(_TOKEN, integration_token)


_OWN: ContextVar[str | None] = ContextVar("crewgraph_compat_execution", default=None)
_TRACES: ContextVar["ExecutionTrace | None"] = ContextVar("crewgraph_compat_trace", default=None)


@dataclass
class ExecutionTrace:
    """The cleanup at the end of an execution."""

    session: Any
    """The recorder; crewgraph has none."""

    cleanup: ExitStack
    """Called at the end."""

    closed: bool = False
    """Whether the cleanup has run."""

    def finish(
        self,
        error_type: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """Run the cleanup once."""
        if not self.closed:
            self.closed = True
            self.cleanup.__exit__(error_type, error, traceback)


def get_execution_uuid() -> str | None:
    """Return the execution id: the one that was set, or else that of the current crew or flow run."""
    return _OWN.get() or run_id()


def set_execution_uuid(execution_uuid: str) -> Token[str | None]:
    """Set the execution id; undo it with `clear_execution_uuid`."""
    return _OWN.set(execution_uuid)


def clear_execution_uuid(token: Token[str | None]) -> None:
    """Restore the previous execution id."""
    give_back(token)


def begin_execution(
    execution_uuid: str | None = None, *, tracing: bool | None = None, trace_session: ExecutionTrace | None = None
) -> Token[str | None] | None:
    """Begin an execution.

    Args:
        execution_uuid: its id; None generates one.
        tracing: without effect.
        trace_session: the session to clean up at its end.

    Returns:
        What `end_execution` takes; None where one is under way, whose part this is then.
    """
    if get_execution_uuid() is not None:
        return None
    if trace_session is not None:
        _TRACES.set(trace_session)
    return _OWN.set(execution_uuid or str(uuid4()))


def end_execution(token: Token[str | None] | None, *, defer: bool = False) -> ExecutionTrace | None:
    """End an execution started with `begin_execution`; None does nothing.

    Returns:
        The cleanup, if it is deferred (`defer`).
    """
    if token is None:
        return None
    give_back(token)
    trace = _TRACES.get()
    _TRACES.set(None)
    if trace is None or defer:
        return trace
    trace.finish()
    return None


class CrewContext(BaseModel):
    """The crew of the running code."""

    id: str | None = None
    """The `id` of the crew."""

    key: str | None = None
    """The `key` of the crew: the same for crews with the same agents and tasks."""


def get_crew_context() -> CrewContext | None:
    """Return the crew whose run executes this code (a tool, callback or guardrail), or None outside of runs."""
    notes = NOTES.get()
    if notes is None or notes.crew is None:
        return None
    return CrewContext(id=str(notes.crew.id), key=notes.crew.key)
