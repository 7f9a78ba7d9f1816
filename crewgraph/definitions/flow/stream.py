"""What `flow.stream` tells of a run, beside what is told of the tasks in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from crewgraph.definitions.flow.feedback import PendingFlow, Question
from crewgraph.definitions.output import CrewOutput
from crewgraph.definitions.stream import StreamItem

__all__ = [
    "Asked",
    "CrewFailed",
    "CrewFinished",
    "CrewStarted",
    "FlowFinished",
    "FlowPaused",
    "FlowStarted",
    "MethodFailed",
    "MethodFinished",
    "MethodItem",
    "MethodStarted",
]


@dataclass(frozen=True, kw_only=True)
class FlowStarted(StreamItem):
    """The run begins, or goes on; always the first of a run that does anything."""

    kind: Literal["flow_started"] = field(default="flow_started", init=False)
    flow: str
    """The flow's name."""

    flow_id: str
    """The run: the `id` of its state."""

    inputs: Mapping[str, Any]
    """What it was given; nothing where it goes on."""


@dataclass(frozen=True, kw_only=True)
class MethodItem(StreamItem):
    """Something that happened in a method; methods that run at once tell in turns."""

    method: str
    """The method."""

    execution: str
    """Which of its executions it is: `judge#2` is the second, `write#1/draft#1` belongs to a flow that `write` runs."""


@dataclass(frozen=True, kw_only=True)
class MethodStarted(MethodItem):
    """A method begins."""

    kind: Literal["method_started"] = field(default="method_started", init=False)
    params: Mapping[str, Any]
    """What it is called with: what came of its trigger as `_0`, the rest by name."""


@dataclass(frozen=True, kw_only=True)
class MethodFinished(MethodItem):
    """A method has returned."""

    kind: Literal["method_finished"] = field(default="method_finished", init=False)
    result: Any
    """What it returned."""


@dataclass(frozen=True, kw_only=True)
class MethodFailed(MethodItem):
    """A method has raised; the exception ends the run, and is raised behind the last item."""

    kind: Literal["method_failed"] = field(default="method_failed", init=False)
    error: str
    """What went wrong."""


@dataclass(frozen=True, kw_only=True)
class Asked(MethodItem):
    """A method waits for somebody's answer; others go on."""

    kind: Literal["asked"] = field(default="asked", init=False)
    question: Question
    """What is asked."""


@dataclass(frozen=True, kw_only=True)
class CrewStarted(MethodItem):
    """A method kicks off a crew; what its tasks do is told by `TaskItem`s."""

    kind: Literal["crew_started"] = field(default="crew_started", init=False)
    crew: str | None
    """The crew's name."""

    thread_id: str | None
    """What the crew's run is kept under; None where it is not kept."""

    inputs: Mapping[str, Any]
    """The values for the placeholders."""


@dataclass(frozen=True, kw_only=True)
class CrewFinished(MethodItem):
    """A crew is done."""

    kind: Literal["crew_finished"] = field(default="crew_finished", init=False)
    crew: str | None
    """The crew's name."""

    output: CrewOutput
    """Its output."""


@dataclass(frozen=True, kw_only=True)
class CrewFailed(MethodItem):
    """A crew failed; the method may catch that."""

    kind: Literal["crew_failed"] = field(default="crew_failed", init=False)
    crew: str | None
    """The crew's name."""

    error: str
    """What went wrong."""


@dataclass(frozen=True, kw_only=True)
class FlowFinished(StreamItem):
    """The run is done; always the last."""

    kind: Literal["flow_finished"] = field(default="flow_finished", init=False)
    result: Any
    """The result, as `kickoff` returns it."""


@dataclass(frozen=True, kw_only=True)
class FlowPaused(StreamItem):
    """The run waits for somebody's answer; the last, instead of `FlowFinished`."""

    kind: Literal["flow_paused"] = field(default="flow_paused", init=False)
    pending: PendingFlow
    """What it waits for, as `kickoff` returns it."""
