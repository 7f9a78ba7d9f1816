"""How a crew is translated into a graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from crewgraph.compiler.assignment import Assignment
from crewgraph.compiler.bodies.task import task_body
from crewgraph.compiler.crew_plan import crew_plan_body
from crewgraph.compiler.state import PLANNING
from crewgraph.compiler.steps import STAGES, step_graph
from crewgraph.core.node import BodyNode
from crewgraph.errors import CompileError

__all__ = ["Form"]


@dataclass(frozen=True, kw_only=True)
class Form:
    """How a crew is translated."""

    granularity: str = "task"
    """"task": a node per task; "step": each task a graph of its steps."""

    stored: bool = True
    """False where the graph is compiled to keep nothing."""

    before: tuple[str, ...] = ()
    """Nodes to stop before: tasks, steps, and steps of one task as `task:step`."""

    after: tuple[str, ...] = ()
    """Nodes to stop after."""

    def node(self, assignment: Assignment, sources: Sequence[str]) -> Any:
        """The node of a task that reads some channels."""
        if self.granularity == "step":
            return step_graph(
                assignment,
                sources,
                stored=self.stored,
                before=_steps(self.before, assignment),
                after=_steps(self.after, assignment),
            )
        return BodyNode(assignment.slug, partial(task_body, assignment), stored=self.stored, seals=True)

    def planning(self, planning: Assignment, tasks: Sequence[Assignment]) -> Any:
        """The node that makes the plan; it has no steps."""
        return BodyNode(planning.slug, partial(crew_plan_body, planning, tasks), stored=self.stored, seals=True)

    def tasks(self, names: Sequence[str], tasks: Sequence[Assignment]) -> list[str]:
        """Those of some names that are tasks.

        Raises:
            CompileError: a name is that of nothing one could stop at.
        """
        slugs = [*([PLANNING] if tasks and tasks[0].planned is not None else []), *(one.slug for one in tasks)]
        steps = STAGES if self.granularity == "step" else ()
        known = {*slugs, *steps, *(f"{one.slug}:{step}" for one in tasks for step in steps)}
        for name in names:
            if name not in known:
                listed = ", ".join(f"`{one}`" for one in (*slugs, *steps))
                hint = "" if steps else ', and with `granularity="step"` the steps of tasks'
                raise CompileError(f"there is no node `{name}` to stop at; there are {listed}{hint}.")
        return [name for name in names if name in slugs]


def _steps(names: Sequence[str], assignment: Assignment) -> list[str]:
    own = f"{assignment.slug}:"
    return [name.removeprefix(own) for name in names if name in STAGES or name.startswith(own)]
