"""Where hooks are called, and how one of them stops what it is called for."""

from enum import StrEnum
from typing import Any

from crewgraph.errors import RunError

__all__ = ["EXECUTION_BOUNDARY_POINTS", "HookAborted", "InterceptionPoint", "LegacyHookBlocked"]


class InterceptionPoint(StrEnum):
    """A place in a run where hooks are called."""

    EXECUTION_START = "execution_start"
    """A crew or a flow is kicked off; `inputs` may be changed."""

    INPUT = "input"
    """The inputs of a kickoff; may be changed."""

    OUTPUT = "output"
    """The output of a crew or a flow; may be changed or replaced."""

    EXECUTION_END = "execution_end"
    """A run has ended, well or badly."""

    PRE_MODEL_CALL = "pre_model_call"
    """A request to a model; its messages may be changed, and it may be blocked."""

    POST_MODEL_CALL = "post_model_call"
    """A model's text; may be replaced."""

    PRE_TOOL_CALL = "pre_tool_call"
    """A call of a tool; its arguments may be changed, and it may be blocked."""

    POST_TOOL_CALL = "post_tool_call"
    """What a tool gave; may be replaced."""

    PRE_STEP = "pre_step"
    """A task or a flow's method begins; a task's context and a method's arguments may be replaced."""

    POST_STEP = "post_step"
    """A task or a flow's method has ended; its output may be changed or replaced."""


EXECUTION_BOUNDARY_POINTS = frozenset(
    {
        InterceptionPoint.EXECUTION_START,
        InterceptionPoint.INPUT,
        InterceptionPoint.OUTPUT,
        InterceptionPoint.EXECUTION_END,
    }
)
"""The points that a whole run passes once."""


class HookAborted(RunError):
    """Raised by a hook: what it was called for shall not happen.

    Args:
        reason: why.
        source: who says so; the hook itself where nothing is given.
    """

    def __init__(self, reason: str, source: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.source = source


class LegacyHookBlocked(HookAborted):
    """A hook of the older kind said so by returning False."""
