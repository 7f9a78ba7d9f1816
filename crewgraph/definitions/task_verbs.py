"""The verbs of tasks."""

from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from crewgraph.core.loops.bridge import begun
from crewgraph.definitions.door import alone
from crewgraph.outdated import tell_outdated
from crewgraph.own_version import ours

if TYPE_CHECKING:
    from crewgraph.definitions.agent import BaseAgent
    from crewgraph.definitions.output import TaskOutput

__all__ = ["TaskVerbs"]


class TaskVerbs:
    """What can be done with a task; a crew's graph calls a subclass's or a patch's version of these instead of its own."""

    @ours
    def execute_sync(
        self, agent: "BaseAgent | None" = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> "TaskOutput":
        """Do the task on its own, outside of a crew, with the texts it shows.

        Args:
            agent: who does it; its own agent where None.
            context: what others found out.
            tools: what may be used; its own tools, else the agent's where None.

        Raises:
            RunError: it has no agent.
            GuardrailFailed: a guardrail refused every attempt.
            Exception: whatever a model raised, with a note that names the task.
        """
        return alone().execute(self, agent, context, tools)

    @ours
    async def aexecute_sync(
        self, agent: "BaseAgent | None" = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> "TaskOutput":
        """Do the task on this event loop; see `execute_sync`."""
        return await alone().aexecute(self, agent, context, tools)

    @ours
    def execute_async(
        self, agent: "BaseAgent | None" = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> "Future[TaskOutput]":
        """Do the task in a thread; the future holds its output, or the exception it failed with. See `execute_sync`."""
        return begun(partial(alone().execute, self, agent, context, tools))

    def execute(
        self, agent: "BaseAgent | None" = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> str:
        """The former name of `execute_sync`, for its text alone."""
        tell_outdated("`Task.execute`", "write `execute_sync(...).raw`")
        return self.execute_sync(agent, context, tools).raw

    def prompt(self) -> str:
        """The text that the task contributes to a request, with the texts it shows: what is to be done, and what comes out."""
        return alone().prompt(self)
