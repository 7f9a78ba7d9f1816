"""Agents that are made for their `kickoff` alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from crewgraph.definitions.agent import Agent
from crewgraph.hooks.llm_hooks import get_after_llm_call_hooks, get_before_llm_call_hooks
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crewgraph.core.messages import Message
    from crewgraph.definitions.flow.noted import flow_at_work
    from crewgraph.definitions.lite_agent_output import LiteAgentOutput
    from crewgraph.tools.failure import ToolFailureRecord
else:
    flow_at_work = lazy("crewgraph.definitions.flow.noted:flow_at_work")

__all__ = ["LiteAgent"]


class LiteAgent(Agent):
    """An agent for conversations: `LiteAgent(...).kickoff("...")`. Any `Agent` does the same."""

    max_iterations: int = 15
    """After this many model requests it must answer with what it has."""

    response_format: type[BaseModel] | None = None
    """A pydantic model that its answers are given as, too."""

    parent_flow: Any = Field(default_factory=lambda: flow_at_work(), exclude=True, repr=False)
    """The flow in whose method it was made."""

    request_within_rpm_limit: Callable[[], bool] | None = Field(default=None, exclude=True, repr=False)
    """Called before each request; the request waits for as long as it does not return."""

    original_agent: Any = Field(default=None, exclude=True, repr=False)
    """The agent that it stands for, which shows its messages and its tools' failures as its own, too."""

    def model_post_init(self, context: Any, /) -> None:
        """Let `max_iterations` and `request_within_rpm_limit` count."""
        super().model_post_init(context)
        self.max_iter = self.max_iterations
        if self.request_within_rpm_limit is not None:
            self.set_rpm_controller(_Gate(self.request_within_rpm_limit))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What was said in its last kickoff, the answer included."""
        return self.last_messages

    @property
    def iterations(self) -> int:
        """How many replies of its model the last kickoff took."""
        return sum(one["role"] == "assistant" for one in self.messages)

    @property
    def use_stop_words(self) -> bool:
        """Whether its model stops at given texts."""
        asks: Any = getattr(self.llm, "supports_stop_words", None)
        return bool(asks()) if callable(asks) else True

    @property
    def before_llm_call_hooks(self) -> list[Any]:
        """The hooks that are called before its requests."""
        return list(get_before_llm_call_hooks())

    @property
    def after_llm_call_hooks(self) -> list[Any]:
        """The hooks that are called after them."""
        return list(get_after_llm_call_hooks())

    def note_messages(self, messages: "Sequence[Message]") -> None:
        """Show a conversation as that of the last work."""
        super().note_messages(messages)
        if self.original_agent is not None:
            self.original_agent.note_messages(messages)

    def note_tool_failures(self, failures: "Sequence[ToolFailureRecord]") -> None:
        """Show the failures of some work as those of the last."""
        super().note_tool_failures(failures)
        if self.original_agent is not None:
            self.original_agent.note_tool_failures(failures)

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


@dataclass(frozen=True)
class _Gate:
    """What requests wait for."""

    passes: Callable[[], bool]

    def check_or_wait(self) -> bool:
        return self.passes()
