"""Time travel in the runs of a crew: history, fork, replay and diff, with the classes that describe steps and differences."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from crewgraph.definitions.html import StepTable, format_seconds_between, html_section, html_table, one_line
from crewgraph.definitions.run_options import Inputs
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.text import shorten

TaskStatus = Literal["same", "changed", "only a", "only b"]
"""`same` or `changed`: how the outputs of both runs compare. `only a`, `only b`: only one run did the task."""

_WIDTH = 60
_MAX_OUTPUT = 400


@dataclass(frozen=True, kw_only=True)
class TaskDiff:
    """The difference between two runs in one task."""

    task: str
    """The task's name in the graph."""

    a: TaskOutput | None
    """The output of the first run; None if it did not do the task."""

    b: TaskOutput | None
    """The output of the second run; None if it did not do the task."""

    seconds_a: float | None = None
    """Seconds in the first run, including concurrent tasks and the pause before a resume; None if unknown, as for a task that a
    fork took over."""

    seconds_b: float | None = None
    """Seconds in the second run."""

    @property
    def status(self) -> TaskStatus:
        """Whether the outputs are the same."""
        if self.a is None or self.b is None:
            return "only b" if self.a is None else "only a"
        return "same" if _result(self.a) == _result(self.b) else "changed"

    @property
    def differs(self) -> tuple[str, ...]:
        """What differs: any of "output", "agent", "description", "expected_output" and "usage"."""
        if self.a is None or self.b is None:
            return ()
        fields = ("agent", "description", "expected_output", "usage")
        other = tuple(name for name in fields if getattr(self.a, name) != getattr(self.b, name))
        return other if self.status == "same" else ("output", *other)

    @property
    def tokens(self) -> int:
        """Tokens of the second run minus those of the first."""
        return _tokens(self.b) - _tokens(self.a)

    @property
    def seconds(self) -> float | None:
        """Seconds of the second run minus those of the first; None if unknown."""
        if self.seconds_a is None or self.seconds_b is None:
            return None
        return self.seconds_b - self.seconds_a


@dataclass(frozen=True, kw_only=True)
class RunDiff:
    """The differences between two runs, task by task; `print` shows them."""

    a: str | None
    """The thread id of the first run; None if it was not stored."""

    b: str | None
    """The thread id of the second run; None if it was not stored."""

    inputs: Mapping[str, tuple[Any, Any]]
    """The inputs that differ, with their values in both runs; None for an input that was not given."""

    tasks: tuple[TaskDiff, ...]
    """All tasks in the order of the first run, then those only in the second."""

    @property
    def same(self) -> bool:
        """Whether inputs and outputs of both runs are equal."""
        return not self.inputs and all(task.status == "same" for task in self.tasks)

    def __str__(self) -> str:
        lines = [f"{self.a} -> {self.b}"]
        lines += [
            f"input {name}: {shorten(repr(a), _WIDTH)} -> {shorten(repr(b), _WIDTH)}"
            for name, (a, b) in self.inputs.items()
        ]
        for task in self.tasks:
            lines.append(f"{task.task}: {task.status}{_details(task)}")
            if task.status != "same":
                lines += [
                    f"  {sign} {shorten(output.raw, _WIDTH)}"
                    for sign, output in (("-", task.a), ("+", task.b))
                    if output is not None
                ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (
                task.task,
                f"{task.status}{_details(task)}",
                "" if task.a is None else shorten(task.a.raw, _MAX_OUTPUT),
                "" if task.b is None or task.status == "same" else shorten(task.b.raw, _MAX_OUTPUT),
            )
            for task in self.tasks
        ]
        changed = [
            f"input {name}: {shorten(repr(a), _WIDTH)} → {shorten(repr(b), _WIDTH)}"
            for name, (a, b) in self.inputs.items()
        ]
        table = html_table(("task", "status", "first run", "second run"), rows, texts=4)
        return html_section(f"{self.a} → {self.b}", "\n".join(changed), table)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def _result(output: TaskOutput) -> object:
    return output.raw, output.pydantic, output.json_dict


def _tokens(output: TaskOutput | None) -> int:
    return 0 if output is None else output.usage.total_tokens


def _details(task: TaskDiff) -> str:
    details: list[str] = []
    if task.a is not None and task.b is not None and task.a.agent != task.b.agent:
        details.append(f"{task.a.agent} -> {task.b.agent}")
    if task.tokens:
        details.append(f"{task.tokens:+d} tokens")
    if task.seconds is not None and abs(task.seconds) >= 0.1:
        details.append(f"{task.seconds:+.1f} s")
    return f" ({', '.join(details)})" if details else ""


@dataclass(frozen=True, kw_only=True)
class CrewStep:
    """A step of a stored run: the checkpoint after some tasks completed.

    Tasks are named as in the graph: by the task's name, or a name derived from its description.
    """

    number: int
    """The index of the step in the run, from 0."""

    thread_id: str
    """The thread id of the run."""

    checkpoint_id: str
    """LangGraph's id of the checkpoint."""

    completed: str | None
    """The task that completed last; None at the start."""

    output: TaskOutput | None
    """The output of `completed`."""

    tasks: tuple[str, ...]
    """The tasks that completed since the previous step; asynchronous tasks complete together. The last is `completed`."""

    outputs: Mapping[str, TaskOutput]
    """The outputs of all tasks so far."""

    inputs: Inputs
    """The inputs of the run."""

    next: tuple[str, ...]
    """The tasks to run or skip next."""

    created_at: datetime
    """When the checkpoint was created."""

    errors: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(dict[str, str]()))
    """What tasks of `next` failed with, such as `{"draft": "ConnectionError('no answer')"}`, until they are resumed."""

    waits: tuple[str, ...] = ()
    """The tasks of `next` that wait for an answer."""

    finished: Mapping[str, TaskOutput] = field(default_factory=lambda: MappingProxyType(dict[str, TaskOutput]()))
    """The outputs of tasks of `next` that have completed while a parallel one failed or waits."""

    inside: str | None = None
    """The thread id of the flow whose method ran the crew; None if there is none."""

    forked_from: str | None = None
    """At the first step of a fork or a replay: the thread id of the original run."""


class CrewSteps(StepTable[CrewStep]):
    """The steps of a crew's run, oldest first; `print` and notebooks show them as a table of the tasks."""

    _columns: ClassVar = ("step", "task", "agent", "status", "output", "tokens", "time")

    def _rows(self) -> Iterator[tuple[str, ...]]:
        before: datetime | None = None
        for step in self:
            if not step.tasks:
                inputs = one_line(", ".join(f"{name}={value!r}" for name, value in step.inputs.items()))
                yield str(step.number), "", "", "started", inputs, "", ""
            for place, task in enumerate(step.tasks):
                output = step.outputs[task]
                yield (
                    "" if place else str(step.number),
                    task,
                    one_line(output.agent),
                    "reused" if step.forked_from else "skipped" if output.was_skipped else "done",
                    one_line(output.raw),
                    f"{output.usage.total_tokens:,}",
                    format_seconds_between(before, step.created_at),
                )
            before = step.created_at
        if self:
            yield from self._coming(self[-1])

    @staticmethod
    def _coming(last: CrewStep) -> Iterator[tuple[str, ...]]:
        for task in last.next:
            if (output := last.finished.get(task)) is not None:
                yield (
                    "",
                    task,
                    one_line(output.agent),
                    "done",
                    one_line(output.raw),
                    f"{output.usage.total_tokens:,}",
                    "",
                )
                continue
            status = "failed" if task in last.errors else "waiting" if task in last.waits else "next"
            yield "", task, "", status, one_line(last.errors.get(task, "")), "", ""
