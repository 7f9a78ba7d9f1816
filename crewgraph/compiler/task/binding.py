"""What compiling finds out about a task: its name in the graph, and whose outputs it is given."""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding, granted_tools, guarded_tools, own_tools
from crewgraph.compiler.agent.capabilities import capabilities_key
from crewgraph.compiler.crew.manager import colleagues, worker_of
from crewgraph.compiler.crew.state import INPUTS, PLANNING, TASK
from crewgraph.compiler.task.lessons import NO_TRAINING_DATA, TrainingData
from crewgraph.core.steps import PENDING, STEPS
from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.process import Process
from crewgraph.definitions.crew.validation import title
from crewgraph.definitions.task.task import NotSpecified, Task
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import StorageError
from crewgraph.text import slug
from crewgraph.tools.mcp.tool import resolver_identity
from crewgraph.tools.use import GuardedTool

__all__ = ["TaskBinding", "bind_delegated_task", "bind_tasks", "context_outputs", "crew_graph_key", "single_binding"]


_DIVIDER = "\n\n----------\n\n"


@dataclass(frozen=True, kw_only=True)
class TaskBinding(AgentBinding):
    """A task with its place in a crew's graph, or on its own; its tools are its own, else its agent's."""

    task: Task
    context: tuple[str | Task, ...]
    """Whose outputs it is given, in order: channels of this crew, and tasks of other crews, which have run before."""

    number: int = 0
    """Its place among the crew's tasks."""

    told: str | None = None
    """The context, where it is given as a text; the texts of the definitions are then taken as they are."""

    planned: int | None = None
    """Its number in the plan of its crew; None where the crew does not plan."""

    lessons: TrainingData = NO_TRAINING_DATA
    """What the agents of its crew were taught."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The channels whose outputs are its context."""
        return tuple(one for one in self.context if isinstance(one, str))

    @property
    def seconds(self) -> int | float | None:
        """How long the agent's work may take: the task's bound, else the agent's."""
        if self.task.max_execution_time is not None:
            return self.task.max_execution_time
        return super().seconds

    @property
    def where(self) -> str:
        """What it is called in messages."""
        return f"{title(self.task)} of {super().where}"

    def labelled(self, output: dict[str, Any]) -> dict[str, Any]:
        """An output as plain data, with what other processes find its task by."""
        return {**output, TASK: {"id": str(self.task.id), "key": self.task.key, "number": self.number}}


def bind_tasks(crew: Crew) -> list[TaskBinding]:
    """The tasks of a crew in order.

    Raises:
        CompileError: a task has no agent, or two tools of the same name.
    """
    taken, adapted = {INPUTS, STEPS, PENDING}, dict[int, GuardedTool]()
    if crew.planning:
        taken.add(PLANNING)
    made: list[TaskBinding] = []
    for n, task in enumerate(crew.tasks):
        agent = worker_of(crew, task)
        name = slug(_title(task), taken=taken)
        taken.add(name)
        context = _context(task, crew.tasks[:n], made)
        given = [*_given(task, agent), *granted_tools(agent, colleagues(crew, task, agent))]
        made.append(
            TaskBinding(
                crew=crew,
                task=task,
                agent=agent,
                slug=name,
                context=context,
                number=n,
                given_tools=given,
                tools=guarded_tools([*given, *own_tools(agent, given, crew, task)], adapted, title(task)),
                planned=n + 1 if crew.planning else None,
            )
        )
    return made


def single_binding(task: Task, agent: BaseAgent, context: str | None, tools: Sequence[Any] | None) -> TaskBinding:
    """A task that is executed outside of a crew's graph.

    Args:
        task: what is to be done; its texts are taken as it shows them.
        agent: who does it.
        context: what others found out.
        tools: what may be used; the task's own, else the agent's where None.

    Raises:
        CompileError: two tools have the same name.
    """
    given = list(tools) if tools is not None else _given(task, agent)
    crew = agent.crew if isinstance(agent.crew, Crew) else None
    return TaskBinding(
        crew=crew,
        task=task,
        agent=agent,
        slug=slug(_title(task), taken={INPUTS}),
        context=(),
        told=context or "",
        given_tools=given,
        tools=guarded_tools([*given, *own_tools(agent, given, crew, task)], {}, title(task)),
    )


def bind_delegated_task(
    task: Task, agent: BaseAgent, crew: Crew | None, context: str, *, node: str, deeper: bool
) -> TaskBinding:
    """What a coworker was asked to do: with their own tools.

    Args:
        task: what is to be done.
        agent: who is to do it.
        crew: for whom; None outside of a crew.
        context: what they are told.
        node: the node of the task that it is a part of.
        deeper: whether they may hand parts of it on.

    Raises:
        CompileError: they may hand it to somebody whom the crew does not have.
    """
    others = colleagues(crew, task, agent) if crew is not None and deeper else ()
    given = [*_given(task, agent), *granted_tools(agent, others)]
    return TaskBinding(
        crew=crew,
        task=task,
        agent=agent,
        slug=node,
        context=(),
        told=context,
        given_tools=given,
        tools=guarded_tools([*given, *own_tools(agent, given, crew, task)], {}, title(task)),
    )


def crew_graph_key(crew: Crew) -> Hashable:
    """Everything of a crew that its graph is made of; while this stays the same, so does the graph.

    Objects count by their identity: what changes inside them (a description, a guardrail, a model) is read when a node
    runs.
    """
    team = tuple(
        (id(agent), agent.allow_delegation, tuple(map(_named, agent.allowed_agents or ()))) for agent in crew.agents
    )
    manager = (id(crew.manager_agent), id(crew.manager_llm)) if crew.process is Process.hierarchical else ()
    return (id(crew), crew.name, crew.process, team, manager, tuple(_made_of(task, crew) for task in crew.tasks))


def _named(allowed: Any) -> Hashable:
    return allowed if isinstance(allowed, str) else id(allowed)


def _made_of(task: Task, crew: Crew) -> Hashable:
    context = task.context
    sources = context if isinstance(context, NotSpecified) else tuple(map(id, context or ()))
    agent = task.agent if crew.process is Process.sequential else crew.manager_agent
    tools = () if agent is None else tuple(map(id, _given(task, agent)))
    can = isinstance(agent, Agent) and (agent.multimodal, agent.allow_code_execution, agent.code_execution_mode)
    asks = resolver_identity() if agent is not None and agent.mcps else ()
    return (
        id(task),
        id(agent),
        id(task.agent),
        _title(task),
        bool(task.async_execution),
        sources,
        tools,
        can,
        asks,
        capabilities_key(agent, crew),
    )


def _title(task: Task) -> str:
    """What a task's node is named after: the same whether or not a run has filled its placeholders."""
    return task.name or task.template("description") or ""


def _given(task: Task, agent: BaseAgent) -> list[Any]:
    return task.tools or agent.tools or []


def _context(task: Task, earlier: Sequence[Task], made: Sequence[TaskBinding]) -> tuple[str | Task, ...]:
    if isinstance(task.context, NotSpecified):
        # Asynchronous tasks that stand right before an asynchronous one run beside it.
        finished = len(made)
        while task.async_execution and finished and earlier[finished - 1].async_execution:
            finished -= 1
        return tuple(one.slug for one in made[:finished])
    slugs = {id(one.task): one.slug for one in made} if task.context else {}
    return tuple(slugs.get(id(other), other) for other in task.context or ())


def context_outputs(assignment: TaskBinding, state: Mapping[str, Any]) -> str:
    """What a task is told of others' outputs.

    Raises:
        StorageError: what the state holds is no output of a task.
    """
    if assignment.told is not None:
        return assignment.told
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
            stacklevel=user_stacklevel(),
        )
        return ""
    return task.output.raw


def _has_raw(output: Any) -> bool:
    return isinstance(output, dict) and isinstance(output.get("raw"), str)
