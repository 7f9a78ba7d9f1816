"""The steps in the history of a flow's run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from crewgraph.definitions.html import StepTable, format_seconds_between, one_line


@dataclass(frozen=True, kw_only=True)
class FlowStep:
    """A step of a stored run: the checkpoint after some methods completed."""

    number: int
    """The index of the step in the run, from 0."""

    flow_id: str
    """The id of the run."""

    checkpoint_id: str
    """LangGraph's id of the checkpoint."""

    completed: str | None
    """The method that completed last; None at the start."""

    output: Any
    """The return value of `completed`."""

    methods: tuple[str, ...]
    """The methods that completed since the previous step; methods may complete together. The last is `completed`."""

    state: Mapping[str, Any]
    """The state's fields."""

    next: tuple[str, ...]
    """The methods to run next."""

    created_at: datetime
    """When the checkpoint was created."""


class FlowSteps(StepTable[FlowStep]):
    """The steps of a flow's run, oldest first; `print` and notebooks show them as a table of the methods."""

    _columns: ClassVar = ("step", "method", "output", "changes of the state", "next", "time")
    _numbers: ClassVar = 1

    def _rows(self) -> Iterator[tuple[str, ...]]:
        before: FlowStep | None = None
        for step in self:
            known: Mapping[str, Any] = {} if before is None else before.state
            changed = {
                name: value for name, value in step.state.items() if name != "id" and _is_new(known, name, value)
            }
            yield (
                str(step.number),
                ", ".join(step.methods) or "(start)",
                "" if step.output is None else one_line(str(step.output)),
                one_line(", ".join(f"{name}={value!r}" for name, value in changed.items())),
                ", ".join(step.next),
                "" if before is None else format_seconds_between(before.created_at, step.created_at),
            )
            before = step


def _is_new(known: Mapping[str, Any], name: str, value: object) -> bool:
    return name not in known or known[name] is not value and repr(known[name]) != repr(value)
