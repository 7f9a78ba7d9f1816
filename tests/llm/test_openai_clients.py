"""Plain requests of LangChain's OpenAI models: what goes out and what comes back is what the openai package would make of it."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any, cast
from unittest.mock import patch

import openai
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langchain_openai import ChatOpenAI
from openai._utils._transform import _transform_typeddict  # pyright: ignore[reportPrivateUsage]
from openai.resources.chat.completions import Completions
from servers.openai_api import Answer, OpenAIServer, Request, Script, calls, error, garbage, text

from crewgraph import LLM
from crewgraph.llm.openai_clients import with_plain_requests

Serve = Callable[[Script | None], OpenAIServer]

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
COUNTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"prompt_tokens": st.integers(0, 99), "completion_tokens": st.integers(0, 99), "total_tokens": st.integers(0, 199)},
    optional={
        "prompt_tokens_details": st.none() | st.just({"cached_tokens": 3}),
        "completion_tokens_details": st.none() | st.just({"reasoning_tokens": 2}),
        "cost": st.just(0.5),
    },
)
CALLS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "id": WORDS,
        "type": st.just("function"),
        "function": st.fixed_dictionaries(
            {"name": WORDS, "arguments": st.just('{"n": 3}') | st.dictionaries(WORDS, JSON).map(json.dumps) | WORDS}
        ),
    }
)
MESSAGES: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": st.none() | WORDS},
    optional={
        "tool_calls": st.none() | st.lists(CALLS | st.just({"id": "c", "type": "custom", "custom": {"name": "x"}})),
        "refusal": st.none() | WORDS,
        "reasoning_content": st.none() | WORDS,
        "annotations": st.none() | st.just([]),
        "function_call": st.none() | st.just({"name": "old", "arguments": "{}"}),
    },
)
CHOICES: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "index": st.just(0),
        "message": MESSAGES,
        "finish_reason": st.sampled_from(["stop", "length", "tool_calls", None]),
    },
    optional={"logprobs": st.none() | st.just({"content": [1], "refusal": None})},
)
COMPLETIONS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "id": WORDS,
        "object": st.just("chat.completion"),
        "created": st.just(1),
        "model": WORDS,
        "choices": st.lists(CHOICES, max_size=2),
    },
    optional={
        "usage": st.none() | COUNTS,
        "system_fingerprint": st.none() | WORDS,
        "service_tier": st.none() | st.just("default"),
        "error": st.none() | st.just({"message": "no"}),
    },
)
BODIES: st.SearchStrategy[Any] = COMPLETIONS | COMPLETIONS.map(lambda body: {**body, "choices": None}) | JSON
REQUESTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "stop": st.lists(WORDS, min_size=1, max_size=2),
        "temperature": st.floats(0, 1),
        "seed": st.integers(0, 9),
        "extra_body": st.dictionaries(st.sampled_from(["max_tokens", "other"]), JSON, min_size=1),
        "extra_headers": st.just({"X-Team": "tides"}),
        "top_logprobs": st.integers(0, 3),
        "tools": st.lists(
            st.fixed_dictionaries(
                {
                    "type": st.just("function"),
                    "function": st.fixed_dictionaries({"name": WORDS, "description": WORDS, "parameters": JSON}),
                }
            ),
            min_size=1,
            max_size=2,
        ),
    },
)


@pytest.fixture(scope="module")
def server() -> Iterator["_Repeating"]:
    with _Repeating() as running:
        yield running


class _Repeating(OpenAIServer):
    """Answers every request with what was set last."""

    said: str | Answer = "x"

    def __init__(self) -> None:
        super().__init__(lambda _: self.said)


@pytest.fixture(scope="module")
def pair(server: _Repeating) -> Iterator[tuple[Any, Any]]:
    """A model of langchain-openai and its copy with plain requests."""
    with openai.DefaultHttpxClient() as client:
        given: dict[str, Any] = {"base_url": server.url, "api_key": "k", "http_client": client}
        model = ChatOpenAI(model="test", max_retries=0, **given)
        yield model, with_plain_requests(model)


def outcome(model: Any, mode: str, request: dict[str, Any]) -> tuple[str, object]:
    """What a request ends with: a message without the names whose values are None, or an error."""
    try:
        messages = [("system", "Be brief."), ("user", "Which tides?")]
        answer: AIMessage = (
            asyncio.run(model.ainvoke(messages, **request)) if mode == "async" else model.invoke(messages, **request)
        )
    except Exception as failure:  # noqa: BLE001 - whatever it is, it is compared
        return type(failure).__name__, str(failure)
    return "answer", without_none(answer.model_dump(exclude={"id"}))


def without_none(value: Any) -> Any:
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        return {name: without_none(part) for name, part in parts.items() if part is not None}
    return [without_none(part) for part in cast("list[Any]", value)] if isinstance(value, list) else value


def sent(request: Request) -> tuple[str, dict[str, str], str]:
    return request.path, {**request.headers, "host": ""}, json.dumps(request.body, sort_keys=True)


@given(BODIES, REQUESTS)
@example({"choices": [{"message": {"role": "assistant", "content": "Neap."}}]}, {})
@example({"choices": [{"message": {"role": "tool", "content": "Neap."}}]}, {})
@example({"choices": [{"message": "Neap."}]}, {})
@example({"choices": ["Neap."]}, {})
def test_a_plain_request_and_its_answer_are_those_of_the_openai_package(
    server: _Repeating, pair: tuple[Any, Any], body: object, request: dict[str, Any]
):
    server.said = Answer(body=json.dumps(body).encode())
    ends = [outcome(model, "sync", request) for model in pair]
    assert ends[0] == ends[1]
    assert sent(server.requests[-1]) == sent(server.requests[-2])


@pytest.mark.parametrize(
    "said",
    [
        text("Neap."),
        calls(("look", {"n": 1}), ("look", "not JSON")),
        error(400),
        error(400, code="context_length_exceeded"),
        error(401),
        error(429),
        error(500),
        garbage(),
        garbage(b'"text"'),
        garbage(b'{"choices": [{"message": {"role": "assistant", "content": "x"}}]}', "text/plain"),
        garbage(b"plain words", "text/plain"),
        garbage(b'{"choices": [{"message": {"role": "assistant", "content": "x"}}]}', "application/vnd.api+json; q=1"),
    ],
    ids=lambda answer: str(answer.body or answer.message)[:40],
)
def test_answers_and_errors_are_those_of_the_openai_package(
    server: _Repeating, pair: tuple[Any, Any], mode: str, said: Answer
):
    server.said = said
    ends = [outcome(model, mode, {"tools": [{"type": "function", "function": {"name": "look"}}]}) for model in pair]
    assert ends[0] == ends[1]
    assert sent(server.requests[-1]) == sent(server.requests[-2])


def test_a_stream_is_that_of_the_openai_package(server: _Repeating, pair: tuple[Any, Any]):
    server.said = "Neap and spring tides."
    own, plain = (
        [without_none(chunk.model_dump(exclude={"id"})) for chunk in model.stream("Which?")] for model in pair
    )
    assert own == plain
    assert sent(server.requests[-1]) == sent(server.requests[-2])


def test_a_plain_answer_is_not_made_a_model_of_the_openai_package(server: _Repeating, pair: tuple[Any, Any], mode: str):
    server.said = "Neap."
    with patch("openai.types.chat.ChatCompletion.construct", side_effect=AssertionError):
        assert outcome(pair[1], mode, {})[0] == "answer"


def test_messages_and_tools_are_not_compared_with_the_types_of_the_api(server: _Repeating, pair: tuple[Any, Any]):
    server.said = "Neap."
    counts: list[int] = []
    for model in pair:
        with patch("openai._utils._transform._transform_typeddict", wraps=_transform_typeddict) as counted:
            outcome(model, "sync", {"tools": [{"type": "function", "function": {"name": "look"}}]})
        counts.append(counted.call_count)
    assert counts[0] > counts[1] == 1


def test_a_create_that_a_test_replaced_is_called_with_all_that_is_sent(server: _Repeating):
    asked: list[dict[str, Any]] = []
    create: Any = Completions.create

    def watched(self: Completions, **request: Any) -> object:
        asked.append(request)
        return create(self, **request)

    server.said = "Neap."
    with openai.DefaultHttpxClient() as client, patch.object(Completions, "create", watched):
        given: dict[str, Any] = {"base_url": server.url, "api_key": "k", "http_client": client}
        model: Any = with_plain_requests(ChatOpenAI(model="test", **given))
        assert model.invoke("Which tides?").content == "Neap."
    assert asked[0]["messages"] == [{"role": "user", "content": "Which tides?"}]


def test_a_traced_request_shows_what_was_asked_and_answered(serve: Serve, mode: str):
    seen = RunCollectorCallbackHandler()
    config: RunnableConfig = {"callbacks": [seen]}
    model = LLM("openai/test", base_url=serve(["Neap."]).url, api_key="k").adapter()
    if mode == "async":
        asyncio.run(model.acomplete([{"role": "user", "content": "Which?"}], (), (), config))
    else:
        model.complete([{"role": "user", "content": "Which?"}], (), (), config)
    (run,) = seen.traced_runs
    assert "Which?" in json.dumps(run.inputs, default=str)
    assert "Neap." in json.dumps(run.outputs, default=str)
