"""Who works on the tasks of a crew: each task's agent, or the manager."""

from collections.abc import Sequence

from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.process import Process
from crewgraph.definitions.crew.validation import title
from crewgraph.definitions.task.task import Task
from crewgraph.errors import CompileError

__all__ = ["colleagues", "manager_of", "worker_of"]


def worker_of(crew: Crew, task: Task) -> BaseAgent:
    """Who works on a task of a crew.

    Raises:
        CompileError: the task has no agent, or the manager has tools of its own.
    """
    if crew.process is Process.hierarchical:
        return manager_of(crew)
    if task.agent is None:
        raise CompileError(f"{title(task)} has no agent assigned; give it `agent=`.")
    return task.agent


def colleagues(crew: Crew, task: Task, agent: BaseAgent) -> Sequence[BaseAgent]:
    """To whom an agent at work on a task may hand parts of it.

    A manager may ask the task's agent alone, where it has one; others those whom their `allowed_agents` name.
    """
    if crew.process is Process.hierarchical and agent is crew.manager_agent:
        return [task.agent] if task.agent is not None else crew.agents
    if not agent.allow_delegation:
        return []
    others = [one for one in crew.agents if one is not agent]
    allowed = agent.allowed_agents
    if allowed is None:
        return others
    known = {one.template("role") for one in others} | {one.role for one in others}
    if missing := [one for one in allowed if isinstance(one, str) and one not in known]:
        raise CompileError(
            f"`allowed_agents` of agent `{agent.role}` names {', '.join(f'`{one}`' for one in missing)}; the other agents of the "
            f"crew are {', '.join(f'`{one.role}`' for one in others) or 'none'}."
        )
    return [one for one in others if any(one is name or name in (one.role, one.template("role")) for name in allowed)]


def manager_of(crew: Crew) -> BaseAgent:
    """The manager of a hierarchical crew: the one it was given, else one with its `manager_llm`, which it shows from then on.

    Raises:
        CompileError: the manager has tools.
    """
    given = crew.manager_agent
    if given is None or crew.is_manager_outdated:
        texts = crew.texts.book
        made = Agent(
            role=texts.filled("hierarchical_manager_agent", "role"),
            goal=texts.filled("hierarchical_manager_agent", "goal"),
            backstory=texts.filled("hierarchical_manager_agent", "backstory"),
            llm=crew.manager_llm,
            allow_delegation=True,
            verbose=crew.verbose,
        )
        crew.made_manager = crew.manager_agent = made
        return made
    if given.tools:
        raise CompileError(
            f"the crew's manager, agent `{given.role}`, has tools. A manager hands the work to those who have them: give them to "
            "the agents, or to the tasks."
        )
    return given
