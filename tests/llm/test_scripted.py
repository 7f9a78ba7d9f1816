"""`ScriptedLLM`."""

import asyncio
import copy
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from crewgraph.core.messages import Message
from crewgraph.errors import ModelError
from crewgraph.llm.resolve import as_model
from crewgraph.llm.scripted import ScriptedLLM, ToolUse

ASK: list[Message] = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}]


def test_answers_come_in_order_and_requests_are_recorded():
    llm = ScriptedLLM(["one", "two"])
    assert [llm.call("a"), llm.call([{"role": "user", "content": "b"}])] == ["one", "two"]
    assert [request.messages for request in llm.requests] == [
        [{"role": "user", "content": "a"}],
        [{"role": "user", "content": "b"}],
    ]
    assert llm.requests[1].text == "b"


def test_an_exhausted_script_reports_the_request():
    llm = ScriptedLLM(["one"], model="m")
    llm.call("a")
    with pytest.raises(
        ModelError, match=r"`m` has 1 answer and this is request 2.*The last message was: what now"
    ) as caught:
        llm.call("what now")
    assert "repeat_last=True" in str(caught.value)
    with pytest.raises(ModelError, match="0 answers"):
        ScriptedLLM([], repeat_last=True).call("x")


def test_the_last_answer_may_be_repeated():
    llm = ScriptedLLM(["one", "two"], repeat_last=True)
    assert [llm.call("x") for _ in range(4)] == ["one", "two", "two", "two"]


def test_tool_calls_in_the_text_protocol_and_native():
    uses: Any = [ToolUse("add", {"a": 1}), {"name": "add", "args": {"a": 2}}]
    assert ScriptedLLM([uses]).call("x") == (
        'Thought: I should use a tool.\nAction: add\nAction Input: {"a": 1}\n'
        'Thought: I should use a tool.\nAction: add\nAction Input: {"a": 2}'
    )
    native = as_model(ScriptedLLM([uses], native_tools=True))
    assert native.native_tools is True
    assert native.complete(ASK, [], [], {})["tool_calls"] == [
        {"id": "call_0_0", "name": "add", "args": {"a": 1}},
        {"id": "call_0_1", "name": "add", "args": {"a": 2}},
    ]


def test_exceptions_are_raised_and_functions_are_called():
    llm = ScriptedLLM([ZeroDivisionError, KeyError("k"), lambda messages: f"saw {messages[-1]['content']}"])
    with pytest.raises(ZeroDivisionError):
        llm.call("x")
    with pytest.raises(KeyError):
        llm.call("x")
    assert llm.call("y") == "saw y"


def test_one_function_answers_many_parallel_requests():
    llm = ScriptedLLM(lambda messages: messages[-1]["content"].upper())
    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(llm.call, [f"a{n}" for n in range(200)])) == [f"A{n}" for n in range(200)]
    assert len(llm.requests) == 200


def test_a_list_is_read_once_by_many_threads():
    llm = ScriptedLLM([str(n) for n in range(200)])
    with ThreadPoolExecutor(50) as pool:
        assert sorted(pool.map(llm.call, ["x"] * 200), key=int) == [str(n) for n in range(200)]


def test_words_count_as_tokens_unless_usage_is_set():
    reply = as_model(ScriptedLLM(["three words here"])).complete(ASK, [], [], {})
    assert reply["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 3,
        "total_tokens": 6,
        "cached_prompt_tokens": 0,
        "reasoning_tokens": 0,
        "cache_creation_tokens": 0,
    }
    llm = ScriptedLLM(["x"], usage={"prompt_tokens": 70, "completion_tokens": 7, "cached_tokens": 60}, repeat_last=True)
    asyncio.run(as_model(llm).acomplete(ASK, [], [], {}))
    llm.call("x")
    used = llm.get_token_usage_summary()
    assert (used.prompt_tokens, used.cached_prompt_tokens, used.total_tokens, used.successful_requests) == (
        140,
        120,
        154,
        2,
    )
    silent = ScriptedLLM(["x"], usage={})
    assert as_model(silent).complete(ASK, [], [], {})["usage"] is None
    assert silent.get_token_usage_summary().successful_requests == 1


def test_a_delay_is_waited_for_without_blocking_the_loop():
    model = as_model(ScriptedLLM(lambda messages: "x", delay=0.5))

    async def all_at_once() -> None:
        await asyncio.gather(*[model.acomplete(ASK, [], [], {}) for _ in range(20)])

    began = time.monotonic()
    asyncio.run(all_at_once())
    assert 0.5 <= time.monotonic() - began < 9, "one after another would be ten seconds"


def test_an_invalid_answer_is_rejected():
    bad: Any = [3, {"tool": "x"}, []]
    for entry in bad:
        with pytest.raises(ModelError, match="script"):
            ScriptedLLM([entry]).call("x")


def test_a_copy_reads_the_same_script_and_the_messages_are_not_shared():
    llm = ScriptedLLM(["one", "two"])
    messages = [{"role": "user", "content": "a"}]
    assert (llm.call(messages), copy.deepcopy(llm).call(messages)) == ("one", "two")
    messages[0]["content"] = "changed"
    assert llm.requests[0].text == "a"
