"""`ScriptedLLM`."""

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
