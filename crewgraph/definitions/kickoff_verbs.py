"""What an agent does for a conversation, without a task and without a crew."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from crewgraph.definitions.checkpoints import CheckpointSettings, continue_from
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from pydantic import BaseModel

    from crewgraph.definitions.agent import BaseAgent
    from crewgraph.definitions.lite_agent_output import LiteAgentOutput
    from crewgraph.runtime.alone import areply, reply
else:
    areply = lazy("crewgraph.runtime.alone:areply")
    reply = lazy("crewgraph.runtime.alone:reply")

__all__ = ["KickoffVerbs"]


class KickoffVerbs:
    """The ways to have an agent answer a conversation."""

    def kickoff(
        self,
        messages: "str | Sequence[Any]",
        response_format: "type[BaseModel] | None" = None,
        input_files: Any = None,
        from_checkpoint: CheckpointSettings | None = None,
    ) -> "LiteAgentOutput":
        """Answer a conversation without a task or a crew; works in scripts, threads and inside a running event loop.

        In a node of a LangGraph graph it is a part of that graph: what was done is not done again by a resume. Placeholders
        in role, goal and backstory stay as they are.

        Args:
            messages: what is asked: a text, or messages: dicts with `role` and `content`, or LangChain's.
            response_format: a pydantic model that the answer is given as, too.
            input_files: files that belong to the conversation, by name; see `Crew.kickoff`.
            from_checkpoint: the checkpoint of a kickoff that is gone on with; where it has no `restore_from`, how checkpoints
                are made from now on.

        Raises:
            CompileError: the agent uses something that is not offered yet.
            GuardrailFailed: its `guardrail` refused every attempt.
            TimeLimitReached: it took longer than `max_execution_time`.
            Exception: whatever the model raised, with a note that names the agent.
        """
        continue_from(self, from_checkpoint)
        return reply(cast("BaseAgent", self), messages, response_format, input_files)

    def message(self, content: str, **kwargs: Any) -> str:
        """Answer one message, as a text; the keywords are those of `kickoff`."""
        return self.kickoff(content, **kwargs).raw

    async def akickoff(
        self,
        messages: "str | Sequence[Any]",
        response_format: "type[BaseModel] | None" = None,
        input_files: Any = None,
        from_checkpoint: CheckpointSettings | None = None,
    ) -> "LiteAgentOutput":
        """Answer a conversation on this event loop; see `kickoff`."""
        continue_from(self, from_checkpoint)
        return await areply(cast("BaseAgent", self), messages, response_format, input_files)

    async def kickoff_async(
        self,
        messages: "str | Sequence[Any]",
        response_format: "type[BaseModel] | None" = None,
        input_files: Any = None,
        from_checkpoint: CheckpointSettings | None = None,
    ) -> "LiteAgentOutput":
        """CrewAI's name for `akickoff`."""
        return await self.akickoff(messages, response_format, input_files, from_checkpoint)
