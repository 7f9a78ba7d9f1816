"""LLM and plain langchain-openai models against a real HTTP endpoint, sync and async."""

import asyncio
import errno
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest
from modes import Mode
from pydantic import BaseModel
from servers.openai_api import OpenAIServer, Script, call, calls, error, garbage, text

from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.protocols import Model
from crewgraph.errors import ToolFailed
from crewgraph.llm.errors import ContextLengthExceeded, UnreadableAnswer
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import as_model

Serve = Callable[[Script | None], OpenAIServer]

ASK: list[Message] = [{"role": "user", "content": "two words"}]
ADD: ToolSpec = {
    "name": "add",
    "description": "Add numbers.",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
}


def ask(
    mode: Mode,
    model: Model,
    messages: Sequence[Message] = ASK,
    tools: Sequence[ToolSpec] = (),
    stop: Sequence[str] = (),
    config: Any = None,
) -> Reply:
    if not mode.asynchronous:
        return model.complete(messages, tools, stop, config or {})
    return asyncio.run(model.acomplete(messages, tools, stop, config or {}))


def model_at(server: OpenAIServer, **words: Any) -> Model:
    settings: dict[str, Any] = {"max_retries": 0, **words}
    return as_model(LLM("openai/test", base_url=server.url, api_key="secret", **settings))


def test_text_and_usage_come_back_as_plain_data(serve: Serve, mode: Mode):
    server = serve(["three words here"])
    reply = ask(mode, model_at(server))
    metadata, _ = reply.pop("metadata"), reply.pop("id")
    assert (metadata["finish_reason"], metadata["id"]) == ("stop", "chatcmpl-test")
    assert reply == {
        "content": "three words here",
        "tool_calls": [],
        "usage": {
            "prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5, "cached_prompt_tokens": 0,
            "reasoning_tokens": 0, "cache_creation_tokens": 0,
        },
        "extra": {},
    }  # fmt: skip
    assert server.requests[0].headers["authorization"] == "Bearer secret"
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "two words"}]


def test_cached_and_reasoning_tokens_are_read(serve: Serve, mode: Mode):
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 8},
    }
    reply = ask(mode, model_at(serve([text("x", usage=usage)])))
    assert reply["usage"] == {
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "cached_prompt_tokens": 64,
        "reasoning_tokens": 8, "cache_creation_tokens": 0,
    }  # fmt: skip


def test_parallel_tool_calls_and_one_that_is_no_json(serve: Serve, mode: Mode):
    server = serve([calls(("add", {"a": 1}), ("add", {"a": 2}), ("add", '{"a": '))])
    reply = ask(mode, model_at(server), tools=[ADD])
    assert reply["tool_calls"] == [
        {"id": "call_0_add", "name": "add", "args": {"a": 1}},
        {"id": "call_1_add", "name": "add", "args": {"a": 2}},
        {"id": "call_2_add", "name": "add", "args": '{"a": '},
    ]
    assert server.bodies[0]["tools"] == [{"type": "function", "function": dict(ADD)}]


def test_a_history_with_tool_calls_is_sent_as_the_protocol_wants_it(serve: Serve, mode: Mode):
    server = serve(["done"])
    history: list[Message] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "add"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "add", "args": {"a": 1}}]},
        {"role": "tool", "content": "2", "tool_call_id": "c1", "name": "add"},
    ]
    before = repr(history)
    assert ask(mode, model_at(server), history, [ADD])["content"] == "done"
    assert repr(history) == before
    sent = server.bodies[0]["messages"]
    assert [entry["role"] for entry in sent] == ["system", "user", "assistant", "tool"]
    assert sent[2]["tool_calls"] == [
        {"type": "function", "id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}}
    ]
    assert (sent[3]["tool_call_id"], sent[3]["content"]) == ("c1", "2")


def test_streaming_gives_the_same_reply_with_usage(serve: Serve, mode: Mode):
    server = serve(["one two three", calls(("add", {"a": 1}), ("add", {"a": 2}))])
    model = model_at(server, stream=True)
    reply = ask(mode, model)
    assert reply["content"] == "one two three"
    assert reply["usage"] is not None
    assert (reply["usage"]["prompt_tokens"], reply["usage"]["completion_tokens"]) == (2, 3)
    tool_reply = ask(mode, model, tools=[ADD])
    assert [request["args"] for request in tool_reply["tool_calls"]] == [{"a": 1}, {"a": 2}]
    assert server.bodies[0]["stream"] is True


@pytest.mark.parametrize("kind", [openai.APIConnectionError, ConnectionError])
def test_an_unreachable_address_raises_the_providers_error_which_is_a_connection_error(
    mode: Mode, kind: type[Exception]
):
    with OpenAIServer() as server:
        url = server.url
    with pytest.raises(kind) as caught:
        ask(mode, as_model(LLM("openai/test", base_url=url, max_retries=0)))
    assert type(caught.value).__name__ == "OpenAIConnectionError"
    reason = (
        f"[Errno {errno.ECONNREFUSED}] Connection refused"
        if not mode.asynchronous
        else "All connection attempts failed"
    )
    assert str(caught.value) == (
        f"The model `test` at {url.removesuffix('/v1')} could not be reached, or the connection broke off: "
        f"Connection error ({reason})"
    )
    assert type(caught.value.__cause__) is openai.APIConnectionError


def test_a_key_that_http_does_not_allow_is_reported_and_not_shown(serve: Serve, mode: Mode):
    with pytest.raises(ConnectionError) as caught:
        ask(mode, as_model(LLM("openai/test", base_url=serve(None).url, api_key="sec\nzzz", max_retries=0)))
    assert "a header, perhaps with the API key, has a character that HTTP does not allow" in str(caught.value)
    assert "zzz" not in str(caught.value)


def test_an_address_without_http_is_named(mode: Mode):
    import openai

    with pytest.raises(
        openai.APIConnectionError, match="The `base_url` of the model `test` needs http:// or https:// in front"
    ):
        ask(mode, as_model(LLM("openai/test", base_url="localhost:9/v1", api_key="k", max_retries=0)))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "answer",
    [garbage(), garbage(b"<html>", "text/html"), garbage(b'{"a": 1}'), garbage(b"[1]")],
    ids=["no json", "html", "other json", "a list"],
)
def test_an_unreadable_answer_is_reported_with_its_cause(serve: Serve, mode: Mode, answer: Any, stream: bool):
    with pytest.raises(UnreadableAnswer, match="`test` at http://127.* sent an answer that cannot be parsed") as caught:
        ask(mode, model_at(serve([answer]), stream=stream))
    assert caught.value.__cause__ is not None


def test_a_conversation_that_is_too_long_has_its_own_error(serve: Serve, mode: Mode):
    message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    server = serve(
        [error(400, message, code="context_length_exceeded"), error(400, message), error(400, "bad request")]
    )
    model = model_at(server)
    for _ in range(2):
        with pytest.raises(ContextLengthExceeded, match="too long for the model `test`") as caught:
            ask(mode, model)
        assert caught.value.__cause__ is not None
    import openai

    with pytest.raises(openai.BadRequestError):
        ask(mode, model)


def test_callbacks_of_other_libraries_are_left_out_with_a_warning(
    serve: Serve, mode: Mode, caplog: pytest.LogCaptureFixture
):
    class Counter:
        def log_success_event(self, *_: object) -> None:
            raise AssertionError("not called")

    llm = LLM("openai/test", base_url=serve(lambda request: "high").url, api_key="k")
    callbacks = [Counter()]
    said = (
        llm.call("?", callbacks=callbacks)
        if not mode.asynchronous
        else asyncio.run(llm.acall("?", callbacks=callbacks))
    )
    assert said == "high"
    assert "ignoring a callback of type `Counter`, which is not a LangChain callback handler" in caplog.text


def test_stop_words_are_sent_and_added_to_the_models_own(serve: Serve, mode: Mode):
    server = serve(lambda request: "x")
    ask(mode, model_at(server, stop=["END"]), stop=["\nObservation:"])
    ask(mode, model_at(server, stop="END"))
    ask(mode, model_at(server))
    assert [body.get("stop") for body in server.bodies] == [["END", "\nObservation:"], ["END"], None]


def test_an_answer_ends_at_a_stop_word_that_the_server_ignores(serve: Serve, mode: Mode):
    said = "Neap tides.\nSTOP and more"
    assert ask(mode, model_at(serve([said]), stop=["STOP"]))["content"] == "Neap tides."
    assert ask(mode, model_at(serve([said])), stop=["\nSTOP"])["content"] == "Neap tides."
    for streams in (False, True):
        llm = LLM("openai/test", base_url=serve([said]).url, api_key="k", stop="STOP", stream=streams)
        assert (llm.call("Which?") if not mode.asynchronous else asyncio.run(llm.acall("Which?"))) == "Neap tides."


def test_one_model_serves_several_event_loops(serve: Serve):
    server = serve(None)
    model = model_at(server)
    for _ in range(3):
        assert ask(Mode("async"), model)["content"] == "echo: two words"


def test_unknown_keywords_go_into_the_request(serve: Serve, mode: Mode):
    server = serve(["x"])
    ask(mode, model_at(server, foo={"bar": 1}, temperature=0.5, max_tokens=7, seed=3, extra_headers={"X-Team": "a"}))
    sent = server.bodies[0]
    assert (sent["foo"], sent["temperature"], sent["max_tokens"], sent["seed"]) == ({"bar": 1}, 0.5, 7, 3)
    assert server.requests[0].headers["x-team"] == "a"


def test_zero_counts_as_a_setting(serve: Serve):
    server = serve(["x"])
    LLM("openai/test", base_url=server.url, temperature=0, seed=0, top_p=0.0).call("hi")
    assert {name: server.bodies[0][name] for name in ("temperature", "seed", "top_p")} == {
        "temperature": 0,
        "seed": 0,
        "top_p": 0,
    }


class Dog(BaseModel):
    name: str
    age: int = 0


def test_call_gives_text_for_a_text_and_for_messages(serve: Serve):
    llm = LLM("openai/test", base_url=serve(None).url)
    assert llm.call("hi") == "echo: hi"
    assert llm.call([{"role": "system", "content": "s"}, {"role": "user", "content": "ho"}]) == "echo: ho"
    assert asyncio.run(llm.acall("hi")) == "echo: hi"
    assert llm.get_token_usage_summary().successful_requests == 3


def test_a_response_format_gives_an_instance(serve: Serve):
    server = serve(
        ['{"name": "Rex", "age": 3}', '{"name": "Rex"}', '{"name": "Rex"}', "no dog", '{"name": "Rex"}', "no"]
    )
    llm = LLM("openai/test", base_url=server.url, response_format=Dog)
    assert llm.call("a dog") == Dog(name="Rex", age=3)
    assert asyncio.run(llm.acall("a dog")) == Dog(name="Rex")
    assert server.bodies[0]["response_format"]["json_schema"]["name"] == "Dog"
    plain = LLM("openai/test", base_url=server.url)
    assert plain.call("a dog", response_model=Dog) == Dog(name="Rex")
    with pytest.raises(UnreadableAnswer, match="does not match `Dog`"):
        plain.call("a dog", response_model=Dog)
    assert as_model(llm).complete(ASK, [], [], {})["content"] == '{"name":"Rex","age":0}'  # as pydantic writes it
    assert llm.get_token_usage_summary().successful_requests == 3
    assert llm.call("a dog") == "no"  # as on CrewAI, with a warning


def test_call_performs_the_function_that_was_called(serve: Serve):
    llm = LLM("openai/test", base_url=serve(lambda request: call("add", {"a": 4})).url)
    tools = [{"type": "function", "function": dict(ADD)}]

    def add_one(a: int) -> int:
        return a + 1

    async def add(a: int) -> int:
        await asyncio.sleep(0)
        return a + 2

    assert llm.call("x", tools=tools, available_functions={"add": add_one}) == "5"
    assert asyncio.run(llm.acall("x", tools=tools, available_functions={"add": add})) == "6"
    result: Any = llm.call("x", tools=tools)
    assert (result[0].function.name, result[0].function.arguments, result[0].id) == ("add", '{"a": 4}', "call_0_add")
    with pytest.raises(ToolFailed, match="available_functions` has `sub`"):
        llm.call("x", tools=tools, available_functions={"sub": print})

    def failing(a: int) -> int:
        raise KeyError(a)

    with pytest.raises(KeyError):
        llm.call("x", tools=tools, available_functions={"add": failing})


def test_fifty_threads_share_a_model_and_every_token_is_counted(serve: Serve):
    llm = LLM("openai/test", base_url=serve(None).url)
    model = as_model(llm)
    with ThreadPoolExecutor(50) as pool:
        replies = [pool.submit(model.complete, ASK, [], [], {}) for _ in range(200)]
        assert {str(reply.result()["content"]) for reply in replies} == {"echo: two words"}
    used = llm.get_token_usage_summary()
    assert (used.successful_requests, used.prompt_tokens, used.completion_tokens) == (200, 400, 600)
