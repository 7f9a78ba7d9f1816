"""What compiling finds out about a task: its name in the graph, and whose outputs it is given."""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crewgraph.compiler.state import INPUTS
from crewgraph.core.journal import JournalError
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.definition import callers_level
from crewgraph.definitions.faults import title
from crewgraph.definitions.task import NotSpecified, Task
from crewgraph.errors import CompileError, StorageError
from crewgraph.text import slug
from crewgraph.tools.adapt import as_tool
from crewgraph.tools.use import GuardedTool

__all__ = ["Assignment", "assignments", "context_of", "made_of"]

_DIVIDER = "\n\n----------\n\n"


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """A task with its place in a crew's graph."""

    crew: Crew
    task: Task
    agent: BaseAgent
    slug: str
    """The name of its node and of its channel."""

    context: tuple[str | Task, ...]
    """Whose outputs it is given, in order: channels of this crew, and tasks of other crews, which have run before."""

    tools: Mapping[str, GuardedTool]
    """What the agent may use for it, by the names models call them by."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The channels whose outputs are its context."""
        return tuple(one for one in self.context if isinstance(one, str))

    @property
    def given_tools(self) -> list[Any]:
        """The tools as the user gave them: the task's own, else the agent's."""
        return _given(self.task, self.agent)

    @property
    def where(self) -> str:
        """What it is called in messages."""
        return f"{title(self.task)} of agent `{' '.join(self.agent.role.split())}`"


def assignments(crew: Crew) -> list[Assignment]:
    """The tasks of a crew in order.

    Raises:
        CompileError: a task has no agent, or two tools of the same name.
    """
    taken, adapted = {INPUTS}, dict[int, GuardedTool]()
    made: list[Assignment] = []
    for n, task in enumerate(crew.tasks):
        if task.agent is None:
            raise CompileError(f"{title(task)} has no agent assigned; give it `agent=`.")
        name = slug(_title(task), taken=taken)
        taken.add(name)
        context = _context(task, crew.tasks[:n], made)
        tools = _tools(task, task.agent, adapted)
        made.append(Assignment(crew=crew, task=task, agent=task.agent, slug=name, context=context, tools=tools))
    return made


def made_of(crew: Crew) -> Hashable:
    """Everything of a crew that its graph is made of; while this stays the same, so does the graph.

    Objects count by their identity: what changes inside them (a description, a guardrail, a model) is read when a node
    runs.
    """
    return (id(crew), crew.name, crew.process, len(crew.agents) > 0, tuple(_made_of(task) for task in crew.tasks))


def _made_of(task: Task) -> Hashable:
    context = task.context
    sources = context if isinstance(context, NotSpecified) else tuple(map(id, context or ()))
    agent = task.agent
    tools = () if agent is None else tuple(map(id, _given(task, agent)))
    return (id(task), id(agent), _title(task), bool(task.async_execution), sources, tools)


def _title(task: Task) -> str:
    """What a task's node is named after: the same whether or not a run has filled its placeholders."""
    return task.name or task.template("description") or ""


def _given(task: Task, agent: BaseAgent) -> list[Any]:
    return task.tools or agent.tools or []


def _tools(task: Task, agent: BaseAgent, adapted: dict[int, GuardedTool]) -> dict[str, GuardedTool]:
    """A task's tools; each of the crew's tools is read once, for reading its schema takes longer than a task."""
    tools: dict[str, GuardedTool] = {}
    for given in _given(task, agent):
        if id(given) not in adapted:
            adapted[id(given)] = GuardedTool(as_tool(given), passing=(JournalError,))
        tool = adapted[id(given)]
        other = tools.setdefault(tool.name, tool)
        if other is not tool:
            raise CompileError(
                f"{title(task)} has two tools that a model would call `{tool.name}`: `{other.tool.title}` and "
                f"`{tool.tool.title}`. Rename one of them."
            )
    return tools


def _context(task: Task, earlier: Sequence[Task], made: Sequence[Assignment]) -> tuple[str | Task, ...]:
    if isinstance(task.context, NotSpecified):
        # Asynchronous tasks that stand right before an asynchronous one run beside it.
        finished = len(made)
        while task.async_execution and finished and earlier[finished - 1].async_execution:
            finished -= 1
        return tuple(one.slug for one in made[:finished])
    slugs = {id(one.task): one.slug for one in made} if task.context else {}
    return tuple(slugs.get(id(other), other) for other in task.context or ())


def context_of(assignment: Assignment, state: Mapping[str, Any]) -> str:
    """What a task is told of others' outputs.

    Raises:
        StorageError: what the state holds is no output of a task.
    """
    try:
        raws = [
            (state[one]["raw"] if one in state else "") if isinstance(one, str) else _raw_of(one)
            for one in assignment.context
        ]
        return _DIVIDER.join([raw for raw in raws if raw])
    except (TypeError, LookupError):
        wrong = next(name for name in assignment.sources if name in state and not _has_raw(state[name]))
        raise StorageError(
            f"`{wrong}` in the state is no output of a task; if the state was edited, give `TaskOutput(...).to_plain()`"
        ) from None


def _raw_of(task: Task) -> str:
    """What a task of another crew gave when that crew was last run."""
    if task.output is None:
        warnings.warn(
            f"{title(task)} stands in a context, but belongs to another crew that has not been run",
            stacklevel=callers_level(),
        )
        return ""
    return task.output.raw


def _has_raw(output: Any) -> bool:
    return isinstance(output, dict) and isinstance(output.get("raw"), str)
