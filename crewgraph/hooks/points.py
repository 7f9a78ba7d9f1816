"""Interception points: where hooks are called, the contexts they get, and the exceptions of hooks."""

import sys
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from crewgraph.errors import HookAborted
from crewgraph.schema import PlainDict
from crewgraph.text import printable


class InterceptionPoint(StrEnum):
    """A place in a run where hooks are called."""

    EXECUTION_START = "execution_start"
    """A crew or a flow is kicked off; `inputs` may be changed."""

    INPUT = "input"
    """The inputs of a kickoff; may be changed."""

    OUTPUT = "output"
    """The output of a crew or a flow; may be changed or replaced."""

    EXECUTION_END = "execution_end"
    """A run has ended, successfully or not."""

    PRE_MODEL_CALL = "pre_model_call"
    """A request to a model; its messages may be changed, and it may be blocked."""

    POST_MODEL_CALL = "post_model_call"
    """A model's text; may be replaced."""

    PRE_TOOL_CALL = "pre_tool_call"
    """A call of a tool; its arguments may be changed, and it may be blocked."""

    POST_TOOL_CALL = "post_tool_call"
    """The result of a tool; may be replaced."""

    PRE_STEP = "pre_step"
    """A task or a flow's method starts; a task's context and a method's arguments may be replaced."""

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


class LegacyHookBlocked(HookAborted):
    """A hook with CrewAI's older interface aborted by returning False."""


@dataclass
class InterceptionContext:
    """The context of an operation that is about to happen or has happened."""

    payload: Any = None
    """The value that hooks may replace, by returning something other than None."""

    agent: Any = None
    agent_role: str | None = None
    task: Any = None
    crew: Any = None
    flow: Any = None


@dataclass
class ExecutionStartContext(InterceptionContext):
    """A kickoff of a crew or a flow."""

    inputs: PlainDict = field(default_factory=dict[str, Any])
    """Its inputs; may be changed in place."""


@dataclass
class InputContext(InterceptionContext):
    """The inputs of a kickoff."""

    inputs: PlainDict = field(default_factory=dict[str, Any])
    """The inputs; may be changed in place."""


@dataclass
class OutputContext(InterceptionContext):
    """The output of a crew or a flow."""

    output: Any = None


@dataclass
class ExecutionEndContext(InterceptionContext):
    """A run that has ended."""

    output: Any = None
    status: Literal["completed", "failed"] = "completed"
    error: BaseException | None = None
    """The error of a failed run; None otherwise."""


@dataclass
class StepContext(InterceptionContext):
    """A task, or a method of a flow.

    Before it, `payload` is the task's context (a text) or the method's arguments by name, positional ones as `_0`, `_1` and
    so on; after it, its output.
    """

    kind: str | None = None
    """"task" or "flow_method"."""

    step_name: str | None = None
    output: Any = None


class Asking:
    """The context of a call that a hook may ask a person about."""

    def request_human_input(
        self, prompt: str, default_message: str = "Press Enter to continue, or provide feedback:"
    ) -> str:
        """Ask at the terminal and return what was typed, stripped.

        Raises:
            HookAborted: there is no terminal to ask at.
        """
        return _typed_answer(prompt, default_message)


def _typed_answer(prompt: str, default_message: str) -> str:
    try:
        return input(printable(f"\n{prompt}\n{default_message}\n")).strip()
    except EOFError:
        where = "standard input is closed" if sys.stdin is not None else "there is no standard input"
        raise HookAborted(
            f"a hook asks `{prompt}`, but cannot get an answer: {where}. Run it at a terminal, or let a tool ask "
            "(`require_approval`), for which a run can wait."
        ) from None
