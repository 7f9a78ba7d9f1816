"""The agents that work on a crew's tasks: each task's own agent, or the manager."""

from collections.abc import Sequence

from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.process import Process
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.errors import CompileError


def worker_of(crew: CrewDefinition, task: TaskDefinition) -> BaseAgentDefinition:
    """Return the agent that works on a task of a crew.

    Raises:
        CompileError: the task has no agent, or the manager has tools of its own.
    """
    if crew.process is Process.hierarchical:
        return manager_of(crew)
    if task.agent is None:
        raise CompileError(f"{task.called} has no agent assigned; give it `agent=`.")
    return task.agent


def colleagues(crew: CrewDefinition, task: TaskDefinition, agent: BaseAgentDefinition) -> Sequence[BaseAgentDefinition]:
    """Return the agents that an agent may delegate parts of a task to.

    A manager delegates to the task's agent only, if it has one; other agents to those in their `allowed_agents`.

    Raises:
        CompileError: `allowed_agents` names an agent that the crew does not have.
    """
    if crew.process is Process.hierarchical and agent is crew.manager_agent:
        return [task.agent] if task.agent is not None else crew.agents
    if not agent.allow_delegation:
        return []
    others = [other for other in crew.agents if other is not agent]
    allowed = agent.allowed_agents
    if allowed is None:
        return others
    known_roles = {role for other in others for role in _roles_of(other)}
    if missing := [name for name in allowed if isinstance(name, str) and name.strip() not in known_roles]:
        raise CompileError(
            f"`allowed_agents` of {agent.called} names {', '.join(f'`{name}`' for name in missing)}; the other agents of "
            f"the crew are {', '.join(f'`{other.role.strip()}`' for other in others) or 'none'}."
        )
    return [
        other
        for other in others
        if any(other is name or isinstance(name, str) and name.strip() in _roles_of(other) for name in allowed)
    ]


def _roles_of(agent: BaseAgentDefinition) -> set[str]:
    """Return an agent's role, with its placeholders and filled, without the line break that ends a folded text in YAML."""
    return {agent.role.strip(), (agent.template("role") or "").strip()}


def manager_of(crew: CrewDefinition) -> BaseAgentDefinition:
    """Return the manager of a hierarchical crew: the given one, else a new one that uses `manager_llm`.

    A new one becomes the crew's `manager_agent`.

    Raises:
        CompileError: the manager has tools.
    """
    manager = crew.manager_agent
    if manager is None or crew.is_manager_outdated:
        texts = crew.texts.book
        manager_agent = AgentDefinition.public_class(
            role=texts.filled("hierarchical_manager_agent", "role"),
            goal=texts.filled("hierarchical_manager_agent", "goal"),
            backstory=texts.filled("hierarchical_manager_agent", "backstory"),
            llm=crew.manager_llm,
            allow_delegation=True,
            verbose=crew.verbose,
        )
        crew.made_manager = crew.manager_agent = manager_agent
        return manager_agent
    if manager.tools:
        raise CompileError(
            f"the crew's manager, {manager.called}, has tools. A manager delegates to agents with tools: give them to the "
            "agents, or to the tasks."
        )
    return manager
