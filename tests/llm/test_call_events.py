"""Events of `LLM.call`."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from modes import Mode
from servers.openai_api import OpenAIServer, Script, calls, error

from crewgraph import LLM
from crewgraph.core.messages import Message, ToolSpec
from crewgraph.events import LLMCallCompletedEvent, LLMCallFailedEvent, LLMCallStartedEvent, LLMStreamChunkEvent
from crewgraph.events.llm import LLMCallType
from crewgraph.testing import record_events

Serve = Callable[[Script | None], OpenAIServer]

ASK: list[Message] = [{"role": "user", "content": "two words"}]
ADD: ToolSpec = {
    "name": "add",
    "description": "Add numbers.",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
}


def called(mode: Mode, llm: LLM, messages: Any, **more: Any) -> Any:
    return llm.call(messages, **more) if not mode.asynchronous else asyncio.run(llm.acall(messages, **more))


def test_a_call_emits_events(serve: Serve, mode: Mode):
    llm = LLM("openai/test", base_url=serve(["yes", calls(("add", {"a": 1}))]).url)
    tools = [{"type": "function", "function": ADD}]
    with record_events() as events:
        called(mode, llm, "two words", from_agent="me")
        called(mode, llm, "one more", tools=tools)
    asking, answered, asking_again, tool_call = events
    assert isinstance(asking, LLMCallStartedEvent) and isinstance(answered, LLMCallCompletedEvent)
    assert (asking.model, asking.messages, asking.from_agent) == ("test", ASK, "me")
    assert (answered.response, answered.call_type) == ("yes", LLMCallType.LLM_CALL)
    assert answered.usage is not None and answered.usage["total_tokens"] > 0
    assert (answered.finish_reason, answered.response_id, asking.stream) == ("stop", "chatcmpl-test", False)
    assert isinstance(asking_again, LLMCallStartedEvent) and asking_again.tools == tools
    assert isinstance(tool_call, LLMCallCompletedEvent) and tool_call.call_type is LLMCallType.TOOL_CALL
    assert tool_call.finish_reason == "tool_calls"
    assert [requested["function"] for requested in tool_call.response] == [{"name": "add", "arguments": '{"a": 1}'}]


def test_a_failed_call_emits_events(serve: Serve, mode: Mode):
    import openai

    llm = LLM("openai/test", base_url=serve([error(401, "wrong key")]).url, max_retries=0)
    with record_events() as events, pytest.raises(openai.AuthenticationError):
        called(mode, llm, "two words")
    assert [type(event) for event in events] == [LLMCallStartedEvent, LLMCallFailedEvent]
    assert "wrong key" in events.of(LLMCallFailedEvent)[-1].error


def test_a_streamed_call_emits_chunks(serve: Serve, mode: Mode):
    llm = LLM("openai/test", base_url=serve(["three words here"]).url, stream=True)
    with record_events() as events:
        assert called(mode, llm, "go") == "three words here"
    pieces = [event.chunk for event in events if isinstance(event, LLMStreamChunkEvent)]
    assert len(pieces) > 1 and "".join(pieces) == "three words here"
    asking, answered = events[0], events[-1]
    assert isinstance(asking, LLMCallStartedEvent) and asking.stream is True
    assert isinstance(answered, LLMCallCompletedEvent) and answered.finish_reason == "stop"
