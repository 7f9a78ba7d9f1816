"""What hooks are given at the boundaries of runs and steps."""

from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "ExecutionEndContext",
    "ExecutionStartContext",
    "InputContext",
    "InterceptionContext",
    "OutputContext",
    "StepContext",
]


@dataclass
class InterceptionContext:
    """What is about to happen, or has happened."""

    payload: Any = None
    """What counts in the end: a hook that returns something other than None replaces it."""

    agent: Any = None
    agent_role: str | None = None
    task: Any = None
    crew: Any = None
    flow: Any = None


@dataclass
class ExecutionStartContext(InterceptionContext):
    """A kickoff of a crew or a flow."""

    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    """Its inputs; may be changed in place."""


@dataclass
class InputContext(InterceptionContext):
    """The inputs of a kickoff."""

    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    """They may be changed in place."""


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
    """Why it failed."""


@dataclass
class StepContext(InterceptionContext):
    """A task, or a method of a flow.

    Before it, `payload` is the task's context (a text) or the method's arguments by name, those that have none as `_0`,
    `_1` and so on; after it, its output.
    """

    kind: str | None = None
    """"task" or "flow_method"."""

    step_name: str | None = None
    output: Any = None
