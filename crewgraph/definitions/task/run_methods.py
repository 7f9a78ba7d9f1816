"""The methods that run a task outside of a crew."""

from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from crewgraph.core.loops.bridge import start_in_thread
from crewgraph.deprecations import warn_deprecated
from crewgraph.lazy import lazy
from crewgraph.overrides import overridable
from crewgraph.tracebacks import traced_to_the_caller

if TYPE_CHECKING:
    from crewgraph.definitions.agent.agent import BaseAgent
    from crewgraph.definitions.task.output import TaskOutput
    from crewgraph.definitions.task.task import Task
    from crewgraph.runtime.agent.standalone import aexecute, execute, prompt
else:
    aexecute = lazy("crewgraph.runtime.agent.standalone:aexecute")
    execute = lazy("crewgraph.runtime.agent.standalone:execute")
    prompt = lazy("crewgraph.runtime.agent.standalone:prompt")

__all__ = ["TaskRunMethods"]


class TaskRunMethods:
    """Methods that run a task. A crew's graph calls the overrides of a subclass or a patch."""

    @overridable
    @traced_to_the_caller
    def execute_sync(
        self, agent: "BaseAgent | None" = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> "TaskOutput":
        """Run the task outside of a crew, with its current texts.

        Args:
            agent: The agent that does the task; None uses the task's agent.
            context: The outputs of other tasks, as text.
            tools: The tools that may be used; None uses those of the task, else the agent's.

        Raises:
            RunError: There is no agent.
            GuardrailFailed: A guardrail rejected every attempt.
            Exception: Any error of a model, with a note that names the task.
        """
        return execute(cast("Task", self), agent, context, tools)

    @overridable
    @traced_to_the_caller
    async def aexecute_sync(
        self, agent: "BaseAgent | None" = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> "TaskOutput":
        """Run the task on the current event loop; see `execute_sync`."""
        return await aexecute(cast("Task", self), agent, context, tools)

    @overridable
    def execute_async(
        self, agent: "BaseAgent | None" = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> "Future[TaskOutput]":
        """Run the task in a thread and return a future of its output; see `execute_sync`."""
        return start_in_thread(partial(execute, cast("Task", self), agent, context, tools))

    def execute(
        self, agent: "BaseAgent | None" = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> str:
        """Deprecated: run the task and return its text; use `execute_sync(...).raw`."""
        warn_deprecated("`Task.execute`", "write `execute_sync(...).raw`")
        return self.execute_sync(agent, context, tools).raw

    def prompt(self) -> str:
        """Return the part of the prompt that describes the task, with its current texts."""
        return prompt(cast("Task", self))
