"""`LiteAgent`, an agent used only by `kickoff`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from crewgraph.agent import Agent
from crewgraph.definitions.agent.output import LiteAgentOutput
from crewgraph.definitions.flow.state import current_flow
from crewgraph.hooks.llm_hooks import get_after_llm_call_hooks, get_before_llm_call_hooks
from crewgraph.tools.failure import ToolFailureRecord

if TYPE_CHECKING:
    from crewgraph.core.messages import Message


class LiteAgent(Agent):
    """An agent for conversations: `LiteAgent(...).kickoff("...")`. Any `Agent` does the same."""

    max_iterations: int = 15
    """Number of model requests after which it must answer with what it has."""

    response_format: type[BaseModel] | None = None
    """Pydantic model of its structured answers."""

    parent_flow: Any = Field(default_factory=current_flow, exclude=True, repr=False)
    """The flow in whose method it was created."""

    request_within_rpm_limit: Callable[[], bool] | None = Field(default=None, exclude=True, repr=False)
    """Called before each request, which waits until it returns."""

    original_agent: Any = Field(default=None, exclude=True, repr=False)
    """The agent that it represents; its messages and tool failures are recorded there as well."""

    def model_post_init(self, context: object, /) -> None:
        """Apply `max_iterations` and `request_within_rpm_limit`."""
        super().model_post_init(context)
        self.max_iter = self.max_iterations
        if self.request_within_rpm_limit is not None:
            self.set_rpm_controller(_RpmGate(self.request_within_rpm_limit))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Messages of the last kickoff, including the answer."""
        return self.last_messages

    @property
    def iterations(self) -> int:
        """Number of model replies in the last kickoff."""
        return sum(message["role"] == "assistant" for message in self.messages)

    @property
    def use_stop_words(self) -> bool:
        """Whether its model supports stop words."""
        supports: object = getattr(self.llm, "supports_stop_words", None)
        return bool(supports()) if callable(supports) else True

    @property
    def before_llm_call_hooks(self) -> list[Any]:
        """The hooks called before its requests."""
        return list(get_before_llm_call_hooks())

    @property
    def after_llm_call_hooks(self) -> list[Any]:
        """The hooks called after its requests."""
        return list(get_after_llm_call_hooks())

    def record_messages(self, messages: "Sequence[Message]") -> None:
        """Record the messages of the latest work."""
        super().record_messages(messages)
        if self.original_agent is not None:
            self.original_agent.record_messages(messages)

    def record_tool_failures(self, failures: "Sequence[ToolFailureRecord]") -> None:
        """Record the tool failures of the latest work."""
        super().record_tool_failures(failures)
        if self.original_agent is not None:
            self.original_agent.record_tool_failures(failures)

    def kickoff(
        self,
        messages: "str | Sequence[object]",
        response_format: type[BaseModel] | None = None,
        input_files: object = None,
        from_checkpoint: Any = None,
    ) -> LiteAgentOutput:
        """See `Agent.kickoff`; `response_format` defaults to the agent's own."""
        return super().kickoff(messages, response_format or self.response_format, input_files, from_checkpoint)

    async def akickoff(
        self,
        messages: "str | Sequence[Any]",
        response_format: type[BaseModel] | None = None,
        input_files: object = None,
        from_checkpoint: Any = None,
    ) -> LiteAgentOutput:
        """See `Agent.akickoff`; `response_format` defaults to the agent's own."""
        return await super().akickoff(messages, response_format or self.response_format, input_files, from_checkpoint)


@dataclass(frozen=True)
class _RpmGate:
    """Adapts `request_within_rpm_limit` to a rate limit controller."""

    passes: Callable[[], bool]

    def check_or_wait(self) -> bool:
        return self.passes()
