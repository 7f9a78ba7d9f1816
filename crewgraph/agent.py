"""Agents: `Agent`, whose work a language model does, and `BaseAgent`, the base of every agent, with the methods that run them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.agent.foreign import ForeignAgentDefinition, as_given
from crewgraph.definitions.checkpoints import CheckpointSettings, apply_from_checkpoint
from crewgraph.overrides import overridable
from crewgraph.tracebacks import is_awaited, traced_to_the_caller

if TYPE_CHECKING:
    from pydantic import BaseModel

    from crewgraph.compiler.agent.binding import AgentBinding
    from crewgraph.core.messages import Message
    from crewgraph.definitions.agent.output import LiteAgentOutput
    from crewgraph.definitions.task.task import TaskDefinition
    from crewgraph.task import Task


class BaseAgent(BaseAgentDefinition):
    """The fields and methods that every agent has, whether our loop or another framework does its work."""

    @overridable
    def execute_task(self, task: "Task", context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        """Work on a task outside of a crew and return the raw answer; guardrails are not run and nothing is stored.

        Args:
            task: The task.
            context: The outputs of other tasks, as text.
            tools: The tools that may be used; None uses those of the task, else the agent's.

        Raises:
            TimeLimitReached: The work took longer than `max_execution_time` seconds.
            Exception: Any error of the model.
        """
        from crewgraph.core.operations import drive
        from crewgraph.runtime.agent.standalone import answer

        return drive(answer(self, task, context, tools))

    @overridable
    async def aexecute_task(self, task: "Task", context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        """Work on a task on this event loop; see `execute_task`."""
        from crewgraph.core.operations import adrive
        from crewgraph.runtime.agent.standalone import answer

        return await adrive(answer(self, task, context, tools))

    def _next_answer(self, binding: "AgentBinding", task: "TaskDefinition", messages: "Sequence[Message]") -> Any:
        """Return another answer to a conversation about a task, for providers of human input."""
        from crewgraph.core.operations import drive
        from crewgraph.runtime.agent.standalone import next_answer_program

        return drive(next_answer_program(binding, task, messages))

    async def _anext_answer(
        self, binding: "AgentBinding", task: "TaskDefinition", messages: "Sequence[Message]"
    ) -> Any:
        """Async version of `_next_answer`."""
        from crewgraph.core.operations import adrive
        from crewgraph.runtime.agent.standalone import next_answer_program

        return await adrive(next_answer_program(binding, task, messages))

    @traced_to_the_caller
    def kickoff(
        self,
        messages: "str | Sequence[object]",
        response_format: "type[BaseModel] | None" = None,
        input_files: object = None,
        from_checkpoint: CheckpointSettings | None = None,
    ) -> "LiteAgentOutput":
        """Answer a conversation without a task or a crew. Works in scripts, threads and inside a running event loop.

        There, `await agent.kickoff(...)` does not block.
        Inside a node of a LangGraph graph the work becomes part of that graph: completed work is not repeated on resume.
        Placeholders in role, goal and backstory are not filled.

        Args:
            messages: A string, or a list of messages: dicts with `role` and `content`, or LangChain messages.
            response_format: A pydantic model to return the answer as, in addition to the text.
            input_files: Files of the conversation, by name; see `Crew.kickoff`.
            from_checkpoint: The checkpoint of a kickoff to continue. Without `restore_from`, sets how checkpoints are made
                from now on.

        Raises:
            CompileError: The agent uses a feature that is not supported.
            GuardrailFailed: The `guardrail` rejected every attempt.
            TimeLimitReached: The work took longer than `max_execution_time` seconds.
            Exception: Any error of the model, with a note that names the agent.
        """
        if is_awaited():
            awaited: Any = self.kickoff_async(messages, response_format, input_files, from_checkpoint)
            return awaited
        if from_checkpoint is not None:
            apply_from_checkpoint(self, from_checkpoint)
        from crewgraph.core.operations import drive
        from crewgraph.runtime.agent.standalone import reply_program

        return drive(reply_program(self, messages, response_format, input_files))

    def message(self, content: str, **kwargs: Any) -> str:
        """Answer one message and return the text. Accepts the keywords of `kickoff`."""
        return self.kickoff(content, **kwargs).raw

    @traced_to_the_caller
    async def akickoff(
        self,
        messages: "str | Sequence[object]",
        response_format: "type[BaseModel] | None" = None,
        input_files: object = None,
        from_checkpoint: CheckpointSettings | None = None,
    ) -> "LiteAgentOutput":
        """Answer a conversation on this event loop; see `kickoff`."""
        if from_checkpoint is not None:
            apply_from_checkpoint(self, from_checkpoint)
        from crewgraph.core.operations import adrive
        from crewgraph.runtime.agent.standalone import reply_program

        return await adrive(reply_program(self, messages, response_format, input_files))

    @overridable
    @traced_to_the_caller
    async def kickoff_async(
        self,
        messages: "str | Sequence[object]",
        response_format: "type[BaseModel] | None" = None,
        input_files: object = None,
        from_checkpoint: CheckpointSettings | None = None,
    ) -> "LiteAgentOutput":
        """CrewAI's name for `akickoff`."""
        return await self.akickoff(messages, response_format, input_files, from_checkpoint)


class Agent(AgentDefinition, BaseAgent):
    """An agent with a role, driven by a language model that may use tools."""


class ForeignAgent(ForeignAgentDefinition, BaseAgent):
    """The agent for an object with `execute_task(task=, context=, tools=)`, which returns the answer as text."""


AgentDefinition.public_class = Agent
ForeignAgentDefinition.public_class = ForeignAgent

AgentField = Annotated[BaseAgent, BeforeValidator(as_given)]
"""An agent, or any object with `execute_task`."""
