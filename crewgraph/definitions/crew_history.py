"""The verbs on the past of a crew's runs: history, forks, replays, differences."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from crewgraph.definitions.checkpoints import ForkVerb
from crewgraph.definitions.crew_diff import RunDiff
from crewgraph.definitions.crew_step import CrewStep
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from uuid import UUID

    from crewgraph.definitions.crew import Crew
    from crewgraph.definitions.output import CrewOutput
    from crewgraph.definitions.run_options import Checkpointer
    from crewgraph.definitions.task import Task
    from crewgraph.runtime.crew_diff import adiff, diff
    from crewgraph.runtime.crew_fork import Fork, afork, fork
    from crewgraph.runtime.crew_history import ahistory, history
else:
    adiff = lazy("crewgraph.runtime.crew_diff:adiff")
    diff = lazy("crewgraph.runtime.crew_diff:diff")
    Fork = lazy("crewgraph.runtime.crew_fork:Fork")
    afork = lazy("crewgraph.runtime.crew_fork:afork")
    fork = lazy("crewgraph.runtime.crew_fork:fork")
    ahistory = lazy("crewgraph.runtime.crew_history:ahistory")
    history = lazy("crewgraph.runtime.crew_history:history")

__all__ = ["CrewHistory"]


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
