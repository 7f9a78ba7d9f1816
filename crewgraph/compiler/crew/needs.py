"""What the runs of a crew need besides its graph, read from its definitions."""

from collections.abc import Sequence
from dataclasses import dataclass

from crewgraph.compiler.agent.binding import capabilities_of, crew_memories, has_knowledge
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition, agents_of
from crewgraph.definitions.task.guardrail import ModelGuardrail, model_guardrail


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What the runs of a crew need besides its graph. Whatever is empty here costs a run nothing."""

    agents: Sequence[BaseAgentDefinition]
    """The agents of the crew and of its tasks, each once."""

    workers: Sequence[TaskBinding]
    """A task of each agent who works, the planner included."""

    equipped: Sequence[TaskBinding]
    """The tasks with tools, or whose agents have capabilities."""

    informed: Sequence[TaskBinding]
    """The tasks whose agents, or whose coworkers, may have knowledge."""

    asking: Sequence[TaskBinding]
    """The tasks in which a person may be asked."""

    judges: Sequence[ModelGuardrail]
    """The guardrails for which a model decides."""

    memories: bool
    """Whether the crew has memories."""

    placeholders: frozenset[str]
    """The placeholders of tasks, which a run without inputs leaves as they are."""

    observers: bool
    """Whether runs are shown in a console or a notebook, logged, or written as snapshots."""

    parallel: int
    """The number of tasks that may run in parallel with others."""


def needs_of(crew: CrewDefinition, tasks: Sequence[TaskBinding], planning: TaskBinding | None) -> Needs:
    """Return what the runs of a crew need.

    Args:
        crew: the crew.
        tasks: its bound tasks.
        planning: the task that plans the others, if any.
    """
    steps = tasks if planning is None else [planning, *tasks]
    agents = {id(agent): agent for agent in [*agents_of(crew), *(task.agent for task in tasks)]}.values()
    judges = [model_guardrail(guardrail) for task in tasks for guardrail in task.task.all_guardrails]
    may_approve = any(agent.tools for agent in crew.agents)  # an agent may delegate work to one with tools
    return Needs(
        agents=[*agents],
        workers=[*{id(task.agent): task for task in steps}.values()],
        equipped=[task for task in tasks if task.tools or capabilities_of(task.agent)],
        informed=[task for task in steps if task.tools or has_knowledge(task.agent, task.crew)],
        asking=[
            task
            for task in tasks
            if may_approve or task.tools or task.task.human_input or getattr(task.agent, "middleware", None)
        ],
        judges=[judge for judge in judges if judge is not None],
        memories=crew_memories(crew) is not None,
        placeholders=frozenset[str]().union(
            *(task.open_placeholders("description", "expected_output") for task in crew.tasks)
        ),
        observers=bool(crew.verbose or crew.live_view or crew.output_log_file or crew.checkpoint)
        or any(agent.verbose or agent.checkpoint for agent in agents),
        parallel=sum(bool(task.task.async_execution) for task in tasks),
    )
