"""Tokens counted by hand."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from crewgraph.llm.usage import UsageMetrics

__all__ = ["TokenCalcHandler", "TokenProcess"]


class TokenProcess(BaseModel):
    """Adds up tokens and requests; runs count for themselves, in `CrewOutput.token_usage`."""

    total_tokens: int = 0
    """Of prompts and answers."""

    prompt_tokens: int = 0
    """Of prompts."""

    cached_prompt_tokens: int = 0
    """Of prompts, those that the provider had cached."""

    completion_tokens: int = 0
    """Of answers."""

    successful_requests: int = 0
    """How many requests were answered."""

    def sum_prompt_tokens(self, tokens: int) -> None:
        """Add tokens of a prompt."""
        self.prompt_tokens += tokens
        self.total_tokens += tokens

    def sum_completion_tokens(self, tokens: int) -> None:
        """Add tokens of an answer."""
        self.completion_tokens += tokens
        self.total_tokens += tokens

    def sum_cached_prompt_tokens(self, tokens: int) -> None:
        """Add tokens of a prompt that were cached; they were added as such before."""
        self.cached_prompt_tokens += tokens

    def sum_successful_requests(self, requests: int) -> None:
        """Add answered requests."""
        self.successful_requests += requests

    def get_summary(self) -> UsageMetrics:
        """The sums."""
        return UsageMetrics(**self.model_dump())


class TokenCalcHandler(BaseModel):
    """A callback in LiteLLM's form, which counts what an answer reports."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    token_cost_process: TokenProcess | None = None
    """What counts; None counts nothing."""

    def __init__(self, token_cost_process: TokenProcess | None = None, **kwargs: Any) -> None:
        super().__init__(token_cost_process=token_cost_process, **kwargs)

    def log_success_event(
        self, kwargs: dict[str, Any], response_obj: dict[str, Any], start_time: float, end_time: float
    ) -> None:
        """Count an answer.

        Args:
            kwargs: what was asked; not looked at.
            response_obj: what was answered, with an object under "usage".
            start_time: when it was asked; not looked at.
            end_time: when it was answered; not looked at.
        """
        counts, usage = self.token_cost_process, response_obj.get("usage")
        if counts is None or not usage:
            return
        counts.sum_successful_requests(1)
        counts.sum_prompt_tokens(getattr(usage, "prompt_tokens", 0) or 0)
        counts.sum_completion_tokens(getattr(usage, "completion_tokens", 0) or 0)
        details = getattr(usage, "prompt_tokens_details", None)
        counts.sum_cached_prompt_tokens(getattr(details, "cached_tokens", 0) or 0)
