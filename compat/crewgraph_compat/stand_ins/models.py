"""Messages of models, and the counters of tokens that LiteLLM's callbacks feed."""

from typing import Any, Literal, NotRequired, TypedDict

from pydantic import BaseModel, ConfigDict

from crewgraph.llm.usage import UsageMetrics


class LLMMessage(TypedDict):
    """A message of a conversation, in the form of OpenAI's protocol."""

    role: Literal["user", "assistant", "system", "tool"]
    content: str | list[dict[str, Any]] | None
    tool_call_id: NotRequired[str]
    name: NotRequired[str]
    tool_calls: NotRequired[list[dict[str, Any]]]
    raw_tool_call_parts: NotRequired[list[Any]]
    files: NotRequired[dict[str, Any]]


class TokenProcess(BaseModel):
    """Count tokens and requests; runs report their own counts in `CrewOutput.token_usage`."""

    total_tokens: int = 0
    """The total number of tokens."""

    prompt_tokens: int = 0
    """The number of prompt tokens."""

    cached_prompt_tokens: int = 0
    """The number of cached prompt tokens."""

    completion_tokens: int = 0
    """The number of completion tokens."""

    successful_requests: int = 0
    """The number of successful requests."""

    def sum_prompt_tokens(self, tokens: int) -> None:
        """Add prompt tokens."""
        self.prompt_tokens += tokens
        self.total_tokens += tokens

    def sum_completion_tokens(self, tokens: int) -> None:
        """Add completion tokens."""
        self.completion_tokens += tokens
        self.total_tokens += tokens

    def sum_cached_prompt_tokens(self, tokens: int) -> None:
        """Add cached prompt tokens, which are already included in the prompt tokens."""
        self.cached_prompt_tokens += tokens

    def sum_successful_requests(self, requests: int) -> None:
        """Add successful requests."""
        self.successful_requests += requests

    def get_summary(self) -> UsageMetrics:
        """Return the totals."""
        return UsageMetrics(**self.model_dump())


class TokenCalcHandler(BaseModel):
    """A LiteLLM-style callback that counts the usage reported by responses."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    token_cost_process: TokenProcess | None = None
    """The counter; None disables counting."""

    def __init__(self, token_cost_process: TokenProcess | None = None, **kwargs: Any) -> None:
        super().__init__(token_cost_process=token_cost_process, **kwargs)

    def log_success_event(
        self, kwargs: dict[str, Any], response_obj: dict[str, Any], start_time: float, end_time: float
    ) -> None:
        """Count the usage of a response.

        Args:
            kwargs: the request; ignored.
            response_obj: the response, with an object under "usage".
            start_time: the start of the request; ignored.
            end_time: the end of the request; ignored.
        """
        counts, usage = self.token_cost_process, response_obj.get("usage")
        if counts is None or not usage:
            return
        counts.sum_successful_requests(1)
        counts.sum_prompt_tokens(getattr(usage, "prompt_tokens", 0) or 0)
        counts.sum_completion_tokens(getattr(usage, "completion_tokens", 0) or 0)
        details = getattr(usage, "prompt_tokens_details", None)
        counts.sum_cached_prompt_tokens(getattr(details, "cached_tokens", 0) or 0)
