"""What is around the running code: the task, the flow, and the token of the hosted platform."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any, cast

from pydantic import BaseModel, Field

from crewgraph.compiler.task.briefing import AT_WORK
from crewgraph.definitions.flow.state import current_flow_id, current_flow_method_name, current_flow_request_id
from crewgraph.events import lineage

__all__ = [
    "ExecutionContext",
    "apply_execution_context",
    "capture_execution_context",
    "get_current_task_id",
    "get_platform_integration_token",
    "platform_context",
    "reset_current_task_id",
    "set_current_task_id",
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
    scopes, trigger = lineage.here()
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
    task = AT_WORK.get()
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
