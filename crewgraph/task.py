"""Tasks: `Task`, and `ConditionalTask`, which may be skipped, with the methods that run them outside of a crew."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from crewgraph.agent import AgentField, BaseAgent
from crewgraph.core.loops.bridge import start_in_thread
from crewgraph.definitions.task.guardrail import LLMGuardrailDefinition
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.definitions.task.task import (
    NOT_SPECIFIED,
    ConditionalTaskDefinition,
    DelegatedTaskDefinition,
    NotSpecified,
    TaskDefinition,
)
from crewgraph.deprecations import warn_deprecated
from crewgraph.guardrails import LLMGuardrail
from crewgraph.overrides import overridable
from crewgraph.tracebacks import traced_to_the_caller


class Task(TaskDefinition):
    """A piece of work for an agent, with the result that is expected."""

    agent: AgentField | None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    """The agent that does the task, or any object with `execute_task`; optional in hierarchical crews."""

    context: Sequence["Task"] | None | NotSpecified = NOT_SPECIFIED  # pyright: ignore[reportIncompatibleVariableOverride]
    """The tasks whose outputs go into the prompt: those listed, such as `[research, interview]`; none for `[]` or None; all
    earlier ones if not given."""

    @overridable
    @traced_to_the_caller
    def execute_sync(
        self, agent: BaseAgent | None = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> TaskOutput:
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
        from crewgraph.core.operations import drive
        from crewgraph.runtime.agent.standalone import execute

        return drive(execute(self, agent, context, tools))

    @overridable
    @traced_to_the_caller
    async def aexecute_sync(
        self, agent: BaseAgent | None = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> TaskOutput:
        """Run the task on the current event loop; see `execute_sync`."""
        from crewgraph.core.operations import adrive
        from crewgraph.runtime.agent.standalone import execute

        return await adrive(execute(self, agent, context, tools))

    @overridable
    def execute_async(
        self, agent: BaseAgent | None = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> Future[TaskOutput]:
        """Run the task in a thread and return a future of its output; see `execute_sync`."""
        from crewgraph.core.operations import drive
        from crewgraph.runtime.agent.standalone import execute

        return start_in_thread(lambda: drive(execute(self, agent, context, tools)))

    def execute(
        self, agent: BaseAgent | None = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> str:
        """Deprecated: run the task and return its text; use `execute_sync(...).raw`."""
        warn_deprecated("`Task.execute`", "write `execute_sync(...).raw`")
        return self.execute_sync(agent, context, tools).raw

    def prompt(self) -> str:
        """Return the part of the prompt that describes the task, with its current texts."""
        from crewgraph.runtime.agent.standalone import prompt

        return prompt(self)


class ConditionalTask(ConditionalTaskDefinition, Task):
    """A task that runs only if its condition accepts the output of the task before it."""

    def __init__(self, condition: Callable[[TaskOutput], bool] | None = None, **fields: Any) -> None:
        super().__init__(condition=condition, **fields)


class DelegatedTask(DelegatedTaskDefinition, Task):
    """The work that an agent delegates to a coworker as part of its task."""


TaskDefinition.public_class = Task
LLMGuardrailDefinition.public_class = LLMGuardrail  # of the rules that tasks are given as text
DelegatedTaskDefinition.part_class = DelegatedTask
