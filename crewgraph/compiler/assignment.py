"""What compiling finds out about a task: its name in the graph, and whose outputs it is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.faults import title
from crewgraph.definitions.task import NotSpecified, Task
from crewgraph.errors import CompileError
from crewgraph.text import slug

__all__ = ["INPUTS", "Assignment", "assignments", "context_of"]

INPUTS = "inputs"
"""The channel of a crew's inputs."""

_DIVIDER = "\n\n----------\n\n"


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """A task with its place in a crew's graph."""

    crew: Crew
    task: Task
    agent: BaseAgent
    slug: str
    """The name of its node and of its channel."""

    sources: tuple[str, ...]
    """The channels whose outputs are its context, in order."""

    @property
    def where(self) -> str:
        """What it is called in messages."""
        return f"{title(self.task)} of agent `{' '.join(self.agent.role.split())}`"


def assignments(crew: Crew) -> list[Assignment]:
    """The tasks of a crew in order.

    Raises:
        CompileError: a task has no agent.
    """
    taken = {INPUTS}
    made: list[Assignment] = []
    for n, task in enumerate(crew.tasks):
        if task.agent is None:
            raise CompileError(f"{title(task)} has no agent assigned; give it `agent=`.")
        name = slug(task.name or task.description, taken=taken)
        taken.add(name)
        sources = _sources(task, crew.tasks[:n], made)
        made.append(Assignment(crew=crew, task=task, agent=task.agent, slug=name, sources=sources))
    return made


def _sources(task: Task, earlier: Sequence[Task], made: Sequence[Assignment]) -> tuple[str, ...]:
    if isinstance(task.context, NotSpecified):
        # Asynchronous tasks that stand right before an asynchronous one run beside it.
        finished = len(made)
        while task.async_execution and finished and earlier[finished - 1].async_execution:
            finished -= 1
        return tuple(one.slug for one in made[:finished])
    named = {id(one) for one in task.context or ()}
    return tuple(one.slug for one in made if id(one.task) in named)


def context_of(assignment: Assignment, state: Mapping[str, Any]) -> str:
    """What a task is told of others' outputs."""
    raws = (state[source]["raw"] for source in assignment.sources if state.get(source))
    return _DIVIDER.join(raw for raw in raws if raw)
