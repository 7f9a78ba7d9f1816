"""Tasks bound to their agents, tools and context, with a name in the graph."""

import os
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from crewgraph.compiler.agent.binding import (
    AgentBinding,
    adapted_tools,
    capabilities_key,
    capability_tools,
    granted_tools,
)
from crewgraph.compiler.crew.manager import colleagues, worker_of
from crewgraph.compiler.crew.state import CONVERSATION, INPUTS, MESSAGES, PLANNING, TASK
from crewgraph.core.steps import PENDING, STEPS
from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.process import Process
from crewgraph.definitions.crew.training import TrainedAgent, read_training, training_path
from crewgraph.definitions.task.task import NotSpecified, TaskDefinition
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import RunError, StorageError
from crewgraph.schema import PlainMapping
from crewgraph.text import slug
from crewgraph.tools.adapt import AdaptedTool

_DIVIDER = "\n\n----------\n\n"
_FILE = "trained_agents_data.json"
"""The file in the working directory that is read where no other is configured."""

_FILE_VARIABLE, _CREWAI_VARIABLE = "CREWGRAPH_TRAINED_AGENTS_FILE", "CREWAI_TRAINED_AGENTS_FILE"


Lessons = tuple[tuple[str, tuple[str, ...]], ...]
"""Instructions from trainings, with the roles of the agents that they are for."""


def lessons_for(lessons: Lessons, *roles: str) -> tuple[str, ...]:
    """Return the instructions for the first of these roles that has any."""
    by_role = dict(lessons)
    return next((by_role[role] for role in roles if role in by_role), ())


def lessons_of(crew: CrewDefinition) -> Lessons:
    """Return what the agents of a crew were trained to do: its `training_data`, else what the configured file holds.

    Raises:
        RunError: `training_data` is invalid.
        StorageError: the file cannot be read.
    """
    if crew.training_data:
        try:
            return _lessons({role: TrainedAgent.model_validate(data) for role, data in crew.training_data.items()})
        except ValidationError as error:
            example = '{"Writer": {"suggestions": ["Be short."], "quality": 7, "final_summary": "..."}}'
            raise RunError(f"`training_data` of the crew must look like {example}: {error}") from error
    configured = crew.trained_agents_file or os.environ.get(_FILE_VARIABLE) or os.environ.get(_CREWAI_VARIABLE) or None
    if configured is None and not os.path.lexists(_FILE):
        return ()
    path = Path(_FILE) if configured is None else training_path(configured, label="`trained_agents_file`")
    try:
        stat = path.stat()
    except FileNotFoundError:
        if configured is not None:
            until = "the crew runs without lessons until `crew.train(...)` creates it"
            warnings.warn(f"there is no training file `{path.absolute()}`; {until}", stacklevel=user_stacklevel())
        return ()
    except OSError as error:
        raise StorageError(f"the training file `{path}` cannot be read: {error}") from error
    return _read(path.absolute(), stat.st_mtime_ns, stat.st_size)


@lru_cache(16)
def _read(path: Path, changed: int, size: int) -> Lessons:
    return _lessons(read_training(path).agents)


def _lessons(agents: Mapping[str, TrainedAgent]) -> Lessons:
    return tuple((role, tuple(agent.suggestions)) for role, agent in agents.items() if agent.suggestions)


@dataclass(frozen=True, kw_only=True)
class TaskBinding(AgentBinding):
    """A task with its agent, tools and place in a crew's graph; its tools are its own, else its agent's."""

    task: TaskDefinition
    context: tuple[str | TaskDefinition, ...]
    """The sources of its context, in order: channels of this crew, and tasks of other crews, which have run before."""

    number: int = 0
    """The position among the crew's tasks."""

    context_text: str | None = None
    """The context, if it is given as a text; the texts of the definitions are then used as they are."""

    without_context: bool = False
    """Whether the task is executed on its own, with `context=None`; an overridden `execute_task` then receives None."""

    plan_number: int | None = None
    """The number in the crew's plan; None where the crew does not plan."""

    lessons: Lessons = ()
    """What the crew's agents were trained to do."""

    converses: bool = False
    """Whether its prompt follows the conversation in the state."""

    conversed: str | None = None
    """The placeholder that the last message of the conversation fills."""

    @property
    def conversation(self) -> Mapping[str, object]:
        """The channel of the conversation, with its type, if it reads it."""
        return CONVERSATION if self.converses else dict[str, object]()

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The channels whose outputs are its context."""
        return tuple(source for source in self.context if isinstance(source, str))

    @property
    def structure(self) -> type[BaseModel] | None:
        """The structure that the task asks for, if any."""
        return self.task.output_pydantic or self.task.output_json or self.task.response_model

    @property
    def seconds(self) -> int | float | None:
        """The time limit of the agent's work: the task's, else the agent's."""
        if self.task.max_execution_time is not None:
            return self.task.max_execution_time
        return super().seconds

    def where_as(self, role: str) -> str:
        """The name used in messages of a run in which the agent has this role, with the placeholders filled."""
        return f"{self.task.called} of {super().where_as(role)}"

    def labelled(self, output: dict[str, object]) -> dict[str, object]:
        """Add to an output (plain data) what other processes identify its task by."""
        return {**output, TASK: {"id": str(self.task.id), "key": self.task.key, "number": self.number}}


def bind_tasks(crew: CrewDefinition, *, converses: bool = False) -> list[TaskBinding]:
    """Bind the tasks of a crew, in order.

    Args:
        crew: the crew.
        converses: whether the graph takes part in a conversation, which each agent sees in its first task.

    Raises:
        CompileError: a task has no agent, or two tools have the same name.
    """
    reserved, adapted = {INPUTS, STEPS, PENDING}, dict[int, AdaptedTool]()
    if converses:
        reserved.add(MESSAGES)
    if crew.planning:
        reserved.add(PLANNING)
    bindings: list[TaskBinding] = []
    for number, task in enumerate(crew.tasks):
        agent = worker_of(crew, task)
        name = slug(_channel_title(task), taken=reserved)
        reserved.add(name)
        context = _context(task, bindings)
        tools = [*_user_tools(task, agent), *granted_tools(agent, colleagues(crew, task, agent))]
        bindings.append(
            TaskBinding(
                crew=crew,
                task=task,
                agent=agent,
                slug=name,
                context=context,
                number=number,
                given_tools=tools,
                tools=adapted_tools([*tools, *capability_tools(agent, tools, crew, task)], adapted, task.called),
                plan_number=number + 1 if crew.planning else None,
                converses=converses and all(binding.agent is not agent for binding in bindings),
            )
        )
    return bindings


def single_binding(
    task: TaskDefinition, agent: BaseAgentDefinition, context: str | None, tools: Sequence[Any] | None
) -> TaskBinding:
    """Bind a task that is executed outside of a crew's graph.

    Args:
        task: the task; its texts are used as it shows them.
        agent: the agent.
        context: the context, as a text.
        tools: the tools; None for the task's own, else the agent's.

    Raises:
        CompileError: two tools have the same name.
    """
    crew = agent.crew if isinstance(agent.crew, CrewDefinition) else None
    given_tools = list(tools) if tools is not None else _user_tools(task, agent)
    return _bind_alone(task, agent, crew, context, given_tools, slug(_channel_title(task), taken={INPUTS}))


def _bind_alone(
    task: TaskDefinition,
    agent: BaseAgentDefinition,
    crew: CrewDefinition | None,
    context: str | None,
    tools: Sequence[object],
    node: str,
) -> TaskBinding:
    return TaskBinding(
        crew=crew,
        task=task,
        agent=agent,
        slug=node,
        context=(),
        context_text=context or "",
        without_context=context is None,
        given_tools=tools,
        tools=adapted_tools([*tools, *capability_tools(agent, tools, crew, task)], {}, task.called),
    )


def bind_delegated_task(
    task: TaskDefinition,
    agent: BaseAgentDefinition,
    crew: CrewDefinition | None,
    context: str,
    *,
    node: str,
    may_delegate: bool,
) -> TaskBinding:
    """Bind a task that was delegated to a coworker, who uses their own tools.

    Args:
        task: the task.
        agent: the coworker.
        crew: the crew; None outside of one.
        context: the context, as a text.
        node: the node of the task that it is a part of.
        may_delegate: whether the coworker may delegate in turn.

    Raises:
        CompileError: the coworker may delegate to an agent that the crew does not have.
    """
    coworkers = colleagues(crew, task, agent) if crew is not None and may_delegate else ()
    given_tools = [*_user_tools(task, agent), *granted_tools(agent, coworkers)]
    return _bind_alone(task, agent, crew, context, given_tools, node)


def crew_graph_key(crew: CrewDefinition) -> Hashable:
    """Return a key of everything a crew's graph is built from; while it is the same, so is the graph.

    Objects count by identity: changes inside them (a description, a guardrail, a model) are read when a node runs.
    """
    team = tuple(
        (id(agent), agent.allow_delegation, tuple(map(_allowed_key, agent.allowed_agents or ())))
        for agent in crew.agents
    )
    manager = (id(crew.manager_agent), id(crew.manager_llm)) if crew.process is Process.hierarchical else ()
    return (id(crew), crew.name, crew.process, team, manager, tuple(_key_of_task(task, crew) for task in crew.tasks))


def _allowed_key(allowed: object) -> Hashable:
    return allowed if isinstance(allowed, str) else id(allowed)


def _key_of_task(task: TaskDefinition, crew: CrewDefinition) -> Hashable:
    context = task.context
    sources = context if isinstance(context, NotSpecified) else tuple(map(id, context or ()))
    agent = task.agent if crew.process is Process.sequential else crew.manager_agent
    tools = () if agent is None else tuple(map(id, _user_tools(task, agent)))
    abilities = isinstance(agent, AgentDefinition) and (
        agent.multimodal,
        agent.allow_code_execution,
        agent.code_execution_mode,
    )
    mcp_resolvers: Hashable = ()
    if agent is not None and agent.mcps:
        from crewgraph.tools.mcp.tool import resolver_identity

        mcp_resolvers = resolver_identity()
    return (
        id(task),
        id(agent),
        id(task.agent),
        _channel_title(task),
        bool(task.async_execution),
        sources,
        tools,
        abilities,
        mcp_resolvers,
        capabilities_key(agent, crew),
    )


def _channel_title(task: TaskDefinition) -> str:
    """Return the text a task's node is named after, the same whether or not a run has filled its placeholders."""
    return task.name or task.template("description") or ""


def _user_tools(task: TaskDefinition, agent: BaseAgentDefinition) -> list[object]:
    """Return the tools for a task: its own, else those of its assigned agent, else those of the executing agent."""
    return (task.tools and task.own_tools) or getattr(task.agent, "tools", None) or agent.tools or []


def _context(task: TaskDefinition, bindings: Sequence[TaskBinding]) -> tuple[str | TaskDefinition, ...]:
    if isinstance(task.context, NotSpecified):
        return () if task.async_execution else tuple(binding.slug for binding in bindings)
    slugs = {id(binding.task): binding.slug for binding in bindings} if task.context else {}
    return tuple(slugs.get(id(other), other) for other in task.context or ())


def context_outputs(assignment: TaskBinding, state: PlainMapping) -> str:
    """Return the outputs of others that are a task's context, as one text.

    Raises:
        StorageError: the state holds a value that is not a task output.
    """
    if assignment.context_text is not None:
        return assignment.context_text
    if not assignment.context:
        return ""
    sources = assignment.sources
    try:
        if len(sources) == len(assignment.context):  # often all earlier outputs: n² of them in a run
            raws = [state[source]["raw"] for source in sources if source in state]
        else:
            raws = [
                (state[source]["raw"] if source in state else "") if isinstance(source, str) else _raw_output_of(source)
                for source in assignment.context
            ]
        return _DIVIDER.join(filter(None, raws))
    except (TypeError, LookupError):
        invalid = next(name for name in sources if name in state and not _has_raw(state[name]))
        raise StorageError(
            f"`{invalid}` in the state is not the output of a task; if the state was edited, set it to "
            "`TaskOutput(...).to_plain()`"
        ) from None


def _raw_output_of(task: TaskDefinition) -> str:
    """Return the text of the last output of another crew's task."""
    if task.output is None:
        warnings.warn(
            f"{task.called} is used as context, but belongs to another crew that has not been run",
            stacklevel=user_stacklevel(),
        )
        return ""
    return task.output.raw


def _has_raw(output: object) -> bool:
    return isinstance(output, dict) and isinstance(output.get("raw"), str)
