"""The verbs of agents that work on tasks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from crewgraph.definitions.door import alone
from crewgraph.definitions.given_skills import merged_skills
from crewgraph.extras import load
from crewgraph.own_version import ours

if TYPE_CHECKING:
    from crewgraph.definitions.task import Task
    from crewgraph.skills.skill import Skill

__all__ = ["AgentVerbs"]


class AgentVerbs:
    """What can be done with an agent; a task calls a subclass's or a patch's version of these instead of its own."""

    @ours
    def execute_task(self, task: "Task", context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        """Work on a task, outside of a crew: the answer as the model wrote it, neither judged nor kept.

        Args:
            task: what is to be done.
            context: what others found out.
            tools: what may be used; the task's, else its own where None.

        Raises:
            TimeLimitReached: it took longer than `max_execution_time`.
            Exception: whatever the model raised.
        """
        return alone().answer(self, task, context, tools)

    @ours
    async def aexecute_task(self, task: "Task", context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        """Work on a task on this event loop; see `execute_task`."""
        return await alone().aanswer(self, task, context, tools)

    def set_skills(self, resolved_crew_skills: "list[Skill] | None" = None) -> None:
        """Look for the skills that `skills` leads to, and add others; in a run the agent has those of its crew without this.

        Args:
            resolved_crew_skills: skills to add; of two with one name its own counts.

        Raises:
            FileNotFoundError: a folder is not there.
            ValueError: something is no skill, and leads to none.
        """
        agent = cast(Any, self)
        agent.skills = merged_skills(agent.skills or (), resolved_crew_skills or (), self) or None

    def resolve_memory(self) -> Self:
        """Make a memory of its own, with its own model, where `memory` is True; a run does so where the crew has none."""
        agent = cast(Any, self)
        if agent.memory is True:
            agent.memory = load("crewgraph.memory.memory").Memory(llm=agent.llm)
        return self
