"""The event of hooks."""

from typing import Literal

from crewgraph.events.base import BaseEvent

__all__ = ["HookDispatchedEvent"]


class HookDispatchedEvent(BaseEvent):
    """The hooks of a point were called."""

    type: str = "hook_dispatched"

    interception_point: str
    """The interception point."""

    outcome: Literal["proceeded", "modified", "aborted"]
    """Whether a hook's result was applied, or a hook aborted the operation."""

    hook_count: int
    """The number of hooks at that point."""

    duration_ms: float
    """Their duration in milliseconds."""

    abort_reason: str | None = None
    abort_source: str | None = None
    """The source of the abort, if a hook aborted the operation."""
