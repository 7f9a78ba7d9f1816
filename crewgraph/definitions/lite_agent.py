"""Agents that are made for their `kickoff` alone."""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from crewgraph.definitions.agent import Agent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crewgraph.definitions.lite_agent_output import LiteAgentOutput

__all__ = ["LiteAgent"]


class LiteAgent(Agent):
    """An agent for conversations: `LiteAgent(...).kickoff("...")`. Any `Agent` does the same."""

    max_iterations: int = 15
    """After this many model requests it must answer with what it has."""

    response_format: type[BaseModel] | None = None
    """A pydantic model that its answers are given as, too."""

    def model_post_init(self, context: Any, /) -> None:
        """Let `max_iterations` count."""
        super().model_post_init(context)
        self.max_iter = self.max_iterations

    def kickoff(
        self,
        messages: "str | Sequence[Any]",
        response_format: type[BaseModel] | None = None,
        input_files: Any = None,
        from_checkpoint: Any = None,
    ) -> "LiteAgentOutput":
        """As `Agent.kickoff`; `response_format` is its own where None."""
        return super().kickoff(messages, response_format or self.response_format, input_files, from_checkpoint)

    async def akickoff(
        self,
        messages: "str | Sequence[Any]",
        response_format: type[BaseModel] | None = None,
        input_files: Any = None,
        from_checkpoint: Any = None,
    ) -> "LiteAgentOutput":
        """As `Agent.akickoff`; `response_format` is its own where None."""
        return await super().akickoff(messages, response_format or self.response_format, input_files, from_checkpoint)
