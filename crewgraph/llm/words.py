"""Keywords of an `LLM` that are not its provider's: who serves it, what it costs, who stands in for it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from crewgraph.deprecations import warn_deprecated
from crewgraph.llm.prices import Price

__all__ = ["SETTINGS", "fallback_words", "form_word", "price_word", "provider_word"]

SETTINGS = (
    *("timeout", "temperature", "top_p", "n", "stop", "max_completion_tokens", "max_tokens", "presence_penalty"),
    *("frequency_penalty", "logit_bias", "seed", "logprobs", "top_logprobs", "base_url", "api_version", "api_key"),
    *("callbacks", "reasoning_effort", "stream"),
)
"""The attributes of an `LLM` that go to its provider."""

_MILLION = 1_000_000


def provider_word(kwargs: dict[str, Any]) -> str | None:
    """Who serves the model, by the several words for it; they are taken out."""
    kwargs.pop("is_litellm", None)
    named = kwargs.pop("provider", None) or kwargs.pop("custom_llm_provider", None)
    if kwargs.pop("azure", False):
        warn_deprecated(
            "`azure=True` of an LLM", 'write the provider before the name: `LLM(model="azure/<deployment>")`'
        )
        named = named or "azure"
    if kwargs.pop("custom_openai", False):
        named = named or "openai"
    return named


def form_word(kwargs: dict[str, Any], given: Any) -> Any:
    """The form of answers: what was given, else what Ollama's word for JSON says; that is taken out."""
    if kwargs.get("format") != "json":
        return given
    del kwargs["format"]
    warn_deprecated('`format="json"` of an LLM', 'write `response_format={"type": "json_object"}`')
    return {"type": "json_object"} if given is None else given


def fallback_words(kwargs: dict[str, Any]) -> list[Any]:
    """The models to fall back on; they are taken out.

    Raises:
        ValueError: it is one model, and no list.
    """
    given: Any = kwargs.pop("fallbacks", None)
    if given is None:
        return []
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Sequence):
        raise ValueError(
            f'`fallbacks` is a list of models, such as ["openai/gpt-4o-mini", LLM(...)], not {given!r:.60}'
        )
    return list(cast("Sequence[Any]", given))


def price_word(kwargs: dict[str, Any]) -> Price | None:
    """What the model costs: `price`, in USD per million tokens, or LiteLLM's words, per token; they are taken out.

    Raises:
        pydantic.ValidationError: it is no price.
    """
    given = kwargs.pop("price", None)
    each = {
        name: kwargs.pop(word) * _MILLION
        for name, word in (
            ("input", "input_cost_per_token"),
            ("output", "output_cost_per_token"),
            ("cached_input", "cache_read_input_token_cost"),
            ("cache_write", "cache_creation_input_token_cost"),
        )
        if kwargs.get(word) is not None
    }
    if given is not None:
        return Price.model_validate(given)
    return Price.model_validate(each) if each else None
