"""Usage and context-length errors as the providers report them."""

from types import SimpleNamespace
from typing import Any

import pytest

from crewgraph.llm.errors import ContextLengthExceeded, ProviderErrors
from crewgraph.llm.usage import UsageMetrics, read_usage

NUMBERS = ("prompt_tokens", "completion_tokens", "total_tokens", "cached_prompt_tokens", "reasoning_tokens")


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ({"prompt_tokens": 1, "completion_tokens": 2}, (1, 2, 3, 0, 0, 0)),
        ({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 9}, (1, 2, 9, 0, 0, 0)),
        (
            {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
            (5, 2, 7, 4, 0, 0),
        ),
        ({"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": None}, (5, 2, 7, 0, 0, 0)),
        (
            {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 1},
            (5, 2, 7, 3, 0, 1),
        ),
        (
            {
                "input_tokens": 5,
                "output_tokens": 2,
                "total_tokens": 7,
                "input_token_details": {"cache_read": 3, "cache_creation": 1},
                "output_token_details": {"reasoning": 1},
            },
            (5, 2, 7, 3, 1, 1),
        ),
        ({"prompt_token_count": 5, "candidates_token_count": 2, "total_token_count": 8}, (5, 2, 8, 0, 0, 0)),
        ({"prompt_tokens": None, "completion_tokens": 2}, (0, 2, 2, 0, 0, 0)),
        ({"prompt_tokens": "many", "completion_tokens": 2.0}, (0, 2, 2, 0, 0, 0)),
        (
            SimpleNamespace(
                prompt_tokens=5, completion_tokens=2, prompt_tokens_details=SimpleNamespace(cached_tokens=1)
            ),
            (5, 2, 7, 1, 0, 0),
        ),
    ],
)
def test_usage_is_parsed_for_every_provider(reported: Any, expected: tuple[int, ...]):
    usage = read_usage(reported)
    assert usage is not None
    assert (*(usage[name] for name in NUMBERS), usage["cache_creation_tokens"]) == expected


@pytest.mark.parametrize("reported", [None, {}, {"foo": 1}, {"prompt_tokens": None}, {"prompt_tokens": True}, "x", 3])
def test_missing_usage_is_none(reported: Any):
    assert read_usage(reported) is None


def test_sums():
    metrics = UsageMetrics.from_provider_dict({"prompt_tokens": 3, "completion_tokens": 2})
    assert metrics is not None
    assert metrics == UsageMetrics(total_tokens=5, prompt_tokens=3, completion_tokens=2, successful_requests=1)
    total = metrics + metrics
    assert (total.total_tokens, total.successful_requests, metrics.total_tokens) == (10, 2, 5)
    total.add_usage_metrics(metrics)
    assert total.delta_since(metrics) == metrics + metrics
    assert UsageMetrics.of(None) == UsageMetrics(successful_requests=1)
    assert UsageMetrics.from_provider_dict(None) is None


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 8192 tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Input is too long for requested model.",
        "Please reduce the length of the messages or completion.",
        "the request exceeds the available context size. try increasing the context size",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        "too many tokens: total number of tokens in the prompt exceeds the limit of 4081",
        "The number of tokens to keep from the initial prompt is greater than the context length",
        "`inputs` tokens + `max_new_tokens` must be <= 4096",
        "ContextWindowExceeded: context window exceeded",
        "the context window is full",
    ],
)
def test_context_length_errors_of_every_provider_are_recognized(text: str):
    with pytest.raises(ContextLengthExceeded) as caught, ProviderErrors("m"):
        raise RuntimeError(text)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    "text",
    ["Too many tokens, please wait before trying again.", "rate limit", "context deadline exceeded", "not long enough"],
)
def test_other_errors_pass_unchanged(text: str):
    original = RuntimeError(text)
    with pytest.raises(RuntimeError) as caught, ProviderErrors("m"):
        raise original
    assert caught.value is original
