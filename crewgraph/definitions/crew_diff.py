"""What differs between two runs of a crew."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from crewgraph.definitions.output import TaskOutput
from crewgraph.text import shorten

__all__ = ["RunDiff", "TaskDiff", "TaskStatus"]

TaskStatus = Literal["same", "changed", "only a", "only b"]
"""`same`: both runs gave the same output. `changed`: they gave different ones. `only a`, `only b`: one of them did it."""

_WIDTH = 60


@dataclass(frozen=True, kw_only=True)
class TaskDiff:
    """A task in both runs."""

    task: str
    """Its name in the graph."""

    a: TaskOutput | None
    """What it gave in the first run; None where it was not done."""

    b: TaskOutput | None
    """The same of the second run."""

    seconds_a: float | None = None
    """How long it took in the first run, with the tasks beside it, and with the pause where the run was resumed in between; None
    where that is not known, as of a task that a fork took over."""

    seconds_b: float | None = None
    """The same of the second run."""

    @property
    def status(self) -> TaskStatus:
        """Whether the outputs are the same."""
        if self.a is None or self.b is None:
            return "only b" if self.a is None else "only a"
        return "same" if _given(self.a) == _given(self.b) else "changed"

    @property
    def differs(self) -> tuple[str, ...]:
        """In what the runs differ: "output", "agent", what was asked ("description", "expected_output"), "usage"."""
        if self.a is None or self.b is None:
            return ()
        a, b = self.a, self.b
        parts = {
            "output": _given(a) != _given(b),
            "agent": a.agent != b.agent,
            "description": a.description != b.description,
            "expected_output": a.expected_output != b.expected_output,
            "usage": a.usage != b.usage,
        }
        return tuple(name for name, is_other in parts.items() if is_other)

    @property
    def tokens(self) -> int:
        """How many tokens more the second run used."""
        return _tokens(self.b) - _tokens(self.a)

    @property
    def seconds(self) -> float | None:
        """How many seconds longer the second run took; None where that is not known."""
        if self.seconds_a is None or self.seconds_b is None:
            return None
        return self.seconds_b - self.seconds_a


@dataclass(frozen=True, kw_only=True)
class RunDiff:
    """What differs between two runs, task by task; as a text it shows what does."""

    a: str | None
    """The thread of the first run; None where it was kept nowhere."""

    b: str | None
    """The thread of the second run."""

    inputs: Mapping[str, tuple[Any, Any]]
    """The inputs that differ, with their values in both runs; None for one that was not given."""

    tasks: tuple[TaskDiff, ...]
    """All tasks, in the order of the first run, then those of the second alone."""

    @property
    def same(self) -> bool:
        """Whether both runs were given the same, and gave the same."""
        return not self.inputs and all(one.status == "same" for one in self.tasks)

    def __str__(self) -> str:
        lines = [f"{self.a} -> {self.b}"]
        lines += [
            f"input {name}: {shorten(repr(a), _WIDTH)} -> {shorten(repr(b), _WIDTH)}"
            for name, (a, b) in self.inputs.items()
        ]
        for one in self.tasks:
            lines.append(f"{one.task}: {one.status}{_more(one)}")
            if one.status != "same":
                lines += [
                    f"  {sign} {shorten(out.raw, _WIDTH)}"
                    for sign, out in (("-", one.a), ("+", one.b))
                    if out is not None
                ]
        return "\n".join(lines)


def _given(output: TaskOutput) -> Any:
    return output.raw, output.pydantic, output.json_dict


def _tokens(output: TaskOutput | None) -> int:
    return 0 if output is None else output.usage.total_tokens


def _more(one: TaskDiff) -> str:
    told: list[str] = []
    if one.a is not None and one.b is not None and one.a.agent != one.b.agent:
        told.append(f"{one.a.agent} -> {one.b.agent}")
    if one.tokens:
        told.append(f"{one.tokens:+d} tokens")
    if one.seconds is not None and abs(one.seconds) >= 0.1:
        told.append(f"{one.seconds:+.1f} s")
    return f" ({', '.join(told)})" if told else ""
