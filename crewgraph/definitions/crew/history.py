"""The verbs on the past of a crew's runs: history, forks, replays, differences.

What differs between two runs of a crew.

A step in the past of a crew's run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from crewgraph.definitions.checkpoints import ForkVerb
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.lazy import lazy
from crewgraph.text import shorten

if TYPE_CHECKING:
    from uuid import UUID

    from crewgraph.definitions.crew.crew import Crew
    from crewgraph.definitions.run_options import Checkpointer
    from crewgraph.definitions.task.output import CrewOutput
    from crewgraph.definitions.task.task import Task
    from crewgraph.runtime.runs.crew_fork import Fork, afork, fork
    from crewgraph.runtime.runs.crew_history import adiff, ahistory, diff, history
else:
    adiff = lazy("crewgraph.runtime.runs.crew_history:adiff")
    diff = lazy("crewgraph.runtime.runs.crew_history:diff")
    Fork = lazy("crewgraph.runtime.runs.crew_fork:Fork")
    afork = lazy("crewgraph.runtime.runs.crew_fork:afork")
    fork = lazy("crewgraph.runtime.runs.crew_fork:fork")
    ahistory = lazy("crewgraph.runtime.runs.crew_history:ahistory")
    history = lazy("crewgraph.runtime.runs.crew_history:history")

__all__ = ["CrewHistory", "CrewStep", "RunDiff", "TaskDiff", "TaskStatus"]


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
        return "same" if _result(self.a) == _result(self.b) else "changed"

    @property
    def differs(self) -> tuple[str, ...]:
        """In what the runs differ: "output", "agent", what was asked ("description", "expected_output"), "usage"."""
        if self.a is None or self.b is None:
            return ()
        a, b = self.a, self.b
        parts = {
            "output": _result(a) != _result(b),
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
            lines.append(f"{one.task}: {one.status}{_details(one)}")
            if one.status != "same":
                lines += [
                    f"  {sign} {shorten(out.raw, _WIDTH)}"
                    for sign, out in (("-", one.a), ("+", one.b))
                    if out is not None
                ]
        return "\n".join(lines)


def _result(output: TaskOutput) -> Any:
    return output.raw, output.pydantic, output.json_dict


def _tokens(output: TaskOutput | None) -> int:
    return 0 if output is None else output.usage.total_tokens


def _details(one: TaskDiff) -> str:
    told: list[str] = []
    if one.a is not None and one.b is not None and one.a.agent != one.b.agent:
        told.append(f"{one.a.agent} -> {one.b.agent}")
    if one.tokens:
        told.append(f"{one.tokens:+d} tokens")
    if one.seconds is not None and abs(one.seconds) >= 0.1:
        told.append(f"{one.seconds:+.1f} s")
    return f" ({', '.join(told)})" if told else ""


@dataclass(frozen=True, kw_only=True)
class CrewStep:
    """What a checkpoint of a run tells: some tasks have completed, others are to run.

    Tasks are called by their names in the graph: the task's name, else one made of its description.
    """

    number: int
    """Its place among the steps of the run, from 0."""

    thread_id: str
    """The run."""

    checkpoint_id: str
    """The checkpoint, by LangGraph's name."""

    completed: str | None
    """The task that completed last; None at the beginning."""

    output: TaskOutput | None
    """What it gave."""

    tasks: tuple[str, ...]
    """All that have completed since the step before: asynchronous tasks are kept together. The last is `completed`."""

    outputs: Mapping[str, TaskOutput]
    """What all tasks gave up to here."""

    inputs: Mapping[str, Any]
    """What the run was given."""

    next: tuple[str, ...]
    """The tasks that were to run, or to be skipped."""

    created_at: datetime
    """When."""

    inside: str | None = None
    """The thread of the flow in whose method it ran; None for a run of its own."""

    forked_from: str | None = None
    """At the first step of a fork or a replay: the run that it came from."""


class CrewHistory:
    """What can be done with the past of a crew's runs."""

    def history(self, thread_id: str | None = None, *, checkpointer: "Checkpointer" = None) -> list[CrewStep]:
        """What a kept run did, step by step, the latest last.

        Args:
            thread_id: the run; the latest of this crew where None.
            checkpointer: where it is kept, as for `kickoff`.

        Raises:
            RunError: there is no such run, or it is another crew's.
            StorageError: what is kept cannot be read.
        """
        return history(cast("Crew", self), thread_id, checkpointer)

    async def ahistory(self, thread_id: str | None = None, *, checkpointer: "Checkpointer" = None) -> list[CrewStep]:
        """What a kept run did, read on this event loop; see `history`."""
        return await ahistory(cast("Crew", self), thread_id, checkpointer)

    @ForkVerb
    def fork(
        self,
        step_or_task: "CrewStep | Task | UUID | str | int",
        outputs: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        *,
        thread_id: str | None = None,
        new_thread_id: str | None = None,
        checkpointer: "Checkpointer" = None,
    ) -> "CrewOutput":
        """Run on from a point of the past in a new thread; the run that it comes from stays as it is.

        Tasks before the point are not done again: their outputs are those of that run, or those given. All others are done
        anew.

        Args:
            step_or_task: a step of `history`, behind which it goes on; or a task, with which it goes on, by its name in the
                graph, its id, name or key, or its place.
            outputs: other outputs for tasks before the point; given for the task itself, it stands for that task's work. A
                text, a `TaskOutput`, the fields of the structure that the task gives, or a dict with `raw`.
            inputs: values that replace those of that run.
            thread_id: the run; that of the step, or the latest of this crew where None.
            new_thread_id: a name to keep the new run under; one is made where None.
            checkpointer: where runs are kept, as for `kickoff`.

        Raises:
            UnknownTask: a task is named that the crew does not have.
            RunError: there is no such run or step, or it has no output of a task before the point.
            DefinitionError: an output does not fit its task.
            Exception: as `kickoff`.
        """
        return fork(
            cast("Crew", self),
            Fork(
                point=step_or_task,
                of=thread_id,
                outputs=outputs,
                inputs=inputs,
                thread_id=new_thread_id,
                checkpointer=checkpointer,
            ),
        )

    async def afork(
        self,
        step_or_task: "CrewStep | Task | UUID | str | int",
        outputs: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        *,
        thread_id: str | None = None,
        new_thread_id: str | None = None,
        checkpointer: "Checkpointer" = None,
    ) -> "CrewOutput":
        """Run on from a point of the past on this event loop; see `fork`."""
        return await afork(
            cast("Crew", self),
            Fork(
                point=step_or_task,
                of=thread_id,
                outputs=outputs,
                inputs=inputs,
                thread_id=new_thread_id,
                checkpointer=checkpointer,
            ),
        )

    def replay(
        self,
        task_id: "Task | UUID | str | int",
        inputs: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        *,
        new_thread_id: str | None = None,
        checkpointer: "Checkpointer" = None,
    ) -> "CrewOutput":
        """Do a task of a run that is kept again, and all tasks behind it; the outputs before it are those of that run.

        Args:
            task_id: the task's id, also the one that it had in the process of that run; its name in the graph, its name, key
                or place.
            inputs: values that replace those of that run.
            thread_id: the run; the latest of this crew where None.
            new_thread_id: a name to keep the new run under; one is made where None.
            checkpointer: where runs are kept, as for `kickoff`.

        Raises:
            UnknownTask: there is no such task (also ValueError).
            RunError: there is no such run, or it has no output of a task before.
            Exception: as `kickoff`.
        """
        return self.fork(
            task_id, None, inputs, thread_id=thread_id, new_thread_id=new_thread_id, checkpointer=checkpointer
        )

    async def areplay(
        self,
        task_id: "Task | UUID | str | int",
        inputs: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        *,
        new_thread_id: str | None = None,
        checkpointer: "Checkpointer" = None,
    ) -> "CrewOutput":
        """Do a task of a run that is kept again, on this event loop; see `replay`."""
        return await self.afork(
            task_id, None, inputs, thread_id=thread_id, new_thread_id=new_thread_id, checkpointer=checkpointer
        )

    def diff(
        self, run_a: "str | CrewOutput", run_b: "str | CrewOutput", *, checkpointer: "Checkpointer" = None
    ) -> RunDiff:
        """What differs between two runs, task by task; `print` shows it.

        Args:
            run_a: a run, by its thread or by what it gave.
            run_b: another.
            checkpointer: where they are kept, as for `kickoff`.

        Raises:
            RunError: there is no such run, or it is another crew's.
            TypeError: it is nothing that names a run.
        """
        return diff(cast("Crew", self), run_a, run_b, checkpointer)

    async def adiff(
        self, run_a: "str | CrewOutput", run_b: "str | CrewOutput", *, checkpointer: "Checkpointer" = None
    ) -> RunDiff:
        """What differs between two runs, read on this event loop; see `diff`."""
        return await adiff(cast("Crew", self), run_a, run_b, checkpointer)
