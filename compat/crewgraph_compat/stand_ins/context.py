"""The context of the running code: the task, the flow, the crew, and the name of the run."""

import os
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any, cast
from uuid import uuid4

from pydantic import BaseModel, Field

from crewgraph.compiler.task.briefing import CURRENT_TASK
from crewgraph.compiler.task.events import NOTES
from crewgraph.definitions.flow.state import current_flow_id, current_flow_method_name, current_flow_request_id
from crewgraph.events import lineage
from crewgraph.events.lineage import run_id

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
    """What is around some code, as data."""

    current_task_id: str | None = None
    """The task."""

    flow_request_id: str | None = None
    """The flow's run."""

    flow_id: str | None = None
    """The same."""

    flow_method_name: str = "unknown"
    """The method of the flow."""

    event_id_stack: tuple[tuple[str, str], ...] = Field(default_factory=tuple)
    """The events whose scopes are open, the innermost last: id and type."""

    last_event_id: str | None = None
    """The event that was emitted last."""

    triggering_event_id: str | None = None
    """The event that set the code off."""

    emission_sequence: int = 0
    """How many events the run has emitted."""

    feedback_callback_info: dict[str, Any] | None = None
    """What a provider of feedback is to be told."""

    platform_token: str | None = None
    """The token of the hosted platform."""


def capture_execution_context(feedback_callback_info: dict[str, Any] | None = None) -> ExecutionContext:
    """What is around the running code."""
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
    """Put something else around the running code."""
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
    """The id of the task around the running code: the one that was set, else the one that an agent works on."""
    given = _TASK.get()
    if given is not None:
        return given
    task = CURRENT_TASK.get()
    return None if task is None else str(task.id)


def set_current_task_id(task_id: str | None) -> Token[str | None]:
    """Say which task it is; `reset_current_task_id` takes that back."""
    return _TASK.set(task_id)


def reset_current_task_id(token: Token[str | None]) -> None:
    """Say what was said before."""
    _TASK.reset(token)


def get_platform_integration_token() -> str | None:
    """The token for the hosted platform: the one that was set, else that of CREWAI_PLATFORM_INTEGRATION_TOKEN."""
    return _TOKEN.get() or os.environ.get(_VARIABLE)


def set_platform_integration_token(integration_token: str) -> None:
    """Set that token, for this context."""
    _TOKEN.set(integration_token)


@contextmanager
def platform_context(integration_token: str) -> Generator[None]:
    """A block with another token."""
    token = cast("Any", _TOKEN.set(integration_token))
    try:
        yield
    finally:
        _TOKEN.reset(token)


_OWN: ContextVar[str | None] = ContextVar("crewgraph_compat_execution", default=None)
_TRACES: ContextVar["ExecutionTrace | None"] = ContextVar("crewgraph_compat_trace", default=None)


@dataclass
class ExecutionTrace:
    """What is to be cleaned up when an execution ends."""

    session: Any
    """Whatever records it; CrewAI's own recorder is none of crewgraph's."""

    cleanup: ExitStack
    """What is done at the end."""

    closed: bool = False
    """Whether it was done."""

    def finish(
        self,
        error_type: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """Clean up, once."""
        if not self.closed:
            self.closed = True
            self.cleanup.__exit__(error_type, error, traceback)


def get_execution_uuid() -> str | None:
    """The name of the execution around the running code: the one that was set, else that of the run of a crew or a flow."""
    return _OWN.get() or run_id()


def set_execution_uuid(execution_uuid: str) -> Token[str | None]:
    """Name the execution; `clear_execution_uuid` takes it back."""
    return _OWN.set(execution_uuid)


def clear_execution_uuid(token: Token[str | None]) -> None:
    """Name it as before."""
    _OWN.reset(token)


def begin_execution(
    execution_uuid: str | None = None, *, tracing: bool | None = None, trace_session: ExecutionTrace | None = None
) -> Token[str | None] | None:
    """Begin an execution.

    Args:
        execution_uuid: its name; made where None.
        tracing: without effect.
        trace_session: what is cleaned up at its end.

    Returns:
        What `end_execution` takes; None where one is under way, whose part this is then.
    """
    if get_execution_uuid() is not None:
        return None
    if trace_session is not None:
        _TRACES.set(trace_session)
    return _OWN.set(execution_uuid or str(uuid4()))


def end_execution(token: Token[str | None] | None, *, defer: bool = False) -> ExecutionTrace | None:
    """End an execution that was begun here; with None, nothing is ended.

    Returns:
        What is to be cleaned up, where that is to wait (`defer`).
    """
    if token is None:
        return None
    _OWN.reset(token)
    trace = _TRACES.get()
    _TRACES.set(None)
    if trace is None or defer:
        return trace
    trace.finish()
    return None


class CrewContext(BaseModel):
    """Which crew it is."""

    id: str | None = None
    """Its `id`."""

    key: str | None = None
    """Its `key`: the same for crews of the same agents and tasks."""


def get_crew_context() -> CrewContext | None:
    """The crew whose run the code is a part of: a tool, a callback, a guardrail; None outside of runs."""
    notes = NOTES.get()
    if notes is None or notes.crew is None:
        return None
    return CrewContext(id=str(notes.crew.id), key=notes.crew.key)
