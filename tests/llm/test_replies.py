"""Whether a reply is whole: what the providers' reasons mean, and which replies the adapters let through."""

import asyncio
import logging
from enum import Enum
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from modes import Mode

from crewgraph import BaseLLM
from crewgraph.core.messages import Message, Reply
from crewgraph.core.protocols import Model
from crewgraph.llm.chat_model import ChatModel
from crewgraph.llm.errors import ReplyCut, ReplyFiltered, ReplyRefused
from crewgraph.llm.replies import REASONS, Ending, ending_of
from crewgraph.llm.resolve import as_model

ASK: list[Message] = [{"role": "user", "content": "Say it."}]
CALL: dict[str, Any] = {"id": "c1", "name": "pay", "args": {}}


class Blocked(Enum):
    SAFETY = "SAFETY"


def ask(mode: Mode, model: Model) -> Reply:
    if not mode.asynchronous:
        return model.complete(ASK, (), (), {})
    return asyncio.run(model.acomplete(ASK, (), (), {}))


def saying(*messages: AIMessage) -> ChatModel:
    return ChatModel(GenericFakeChatModel(messages=iter(messages)))


def test_each_reason_has_its_meaning():
    meant = {
        "whole": "stop tool_calls function_call end_turn stop_sequence tool_use STOP COMPLETE completed eos_token",
        "cut": "length max_tokens model_length MAX_TOKENS model_context_window_exceeded MALFORMED_FUNCTION_CALL OTHER load ERROR "
        "TIMEOUT insufficient_system_resource error time_limit cancelled max_output_tokens failed malformed_tool_use abort",
        "paused": "pause_turn",
        "filtered": "content_filter SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII guardrail_intervened "
        "content_filtered ERROR_TOXIC",
        "refused": "refusal",
        "unknown": "banana stopbanana",
    }
    for verdict, reasons in meant.items():
        for reason in reasons.split():
            assert (reason, ending_of({"finish_reason": reason}).verdict) == (reason, verdict)
    assert {"whole", "cut", "paused", "filtered", "refused"} == set(REASONS.values())


def test_a_reason_is_read_where_each_provider_puts_it():
    cases: list[tuple[dict[str, Any], Ending]] = [
        ({"finish_reason": "stop", "model_provider": "openai"}, Ending("whole", "stop")),
        ({"stop_reason": "max_tokens", "model_provider": "anthropic"}, Ending("cut", "max_tokens")),
        ({"stopReason": "guardrail_intervened"}, Ending("filtered", "guardrail_intervened")),
        ({"done": True, "done_reason": "length"}, Ending("cut", "length")),
        ({"status": "completed", "model": "m", "model_provider": "openai"}, Ending("whole", "completed")),
        (
            {"status": "incomplete", "model": "m", "incomplete_details": {"reason": "content_filter"}},
            Ending("filtered", "content_filter"),
        ),
        ({"status": "failed", "model": "m"}, Ending("cut", "failed")),
        ({"prompt_feedback": {"block_reason": Blocked.SAFETY}}, Ending("filtered", "the prompt was blocked: SAFETY")),
        ({"finish_reason": "STOPSTOP"}, Ending("whole", "STOPSTOP")),  # LangChain joins what comes with several parts
        ({"finish_reason": "stoplength"}, Ending("cut", "stoplength")),
    ]
    for metadata, expected in cases:
        assert ending_of(metadata) == expected


def test_without_a_reason_only_a_stream_that_must_have_one_is_cut():
    for provider in ("openai", "anthropic", "google_genai", "groq", "mistralai", "bedrock_converse"):
        assert ending_of({"model_provider": provider}).verdict == "cut"
    assert ending_of({}, provider="ollama").verdict == "cut"
    assert ending_of({"done": True}, provider="ollama").verdict == "whole"
    assert ending_of({"finish_reason": None, "model_provider": "openai"}).verdict == "whole"
    assert ending_of({}).verdict == "whole"
    assert ending_of({"model_provider": "somebody"}).verdict == "whole"


def test_a_text_that_ends_at_a_limit_is_marked_and_named_in_a_warning(mode: Mode, caplog: pytest.LogCaptureFixture):
    reply = ask(mode, saying(AIMessage("Half an", response_metadata={"stop_reason": "max_tokens"})))
    assert (reply["content"], reply.get("cut")) == ("Half an", {"reason": "max_tokens", "limited": False})
    assert "was cut off (`max_tokens`) at the limit of the model or its server" in caplog.text


def test_tool_calls_that_are_not_whole_do_not_get_through(mode: Mode):
    for reason in ("length", "OTHER", "banana"):
        message = AIMessage("", tool_calls=[CALL], response_metadata={"finish_reason": reason})
        with pytest.raises(ReplyCut, match="Its calls of `pay` were not run") as cut:
            ask(mode, saying(message))
        assert reason in str(cut.value)


def test_an_unknown_reason_of_a_text_is_taken_as_whole_with_a_warning(mode: Mode, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING)
    assert ask(mode, saying(AIMessage("Done.", response_metadata={"finish_reason": "banana"})))["content"] == "Done."
    assert "the unknown reason `banana`" in caplog.text


def test_a_paused_turn_goes_on_with_what_was_said(mode: Mode):
    asked: list[list[BaseMessage]] = []

    class Pausing(GenericFakeChatModel):
        def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
            asked.append(messages)
            return super()._generate(messages, *args, **kwargs)

    usage: Any = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    searching: list[str | dict[Any, Any]] = [{"type": "server_tool_use", "id": "s1", "name": "web_search"}]
    parts = [
        AIMessage(searching, response_metadata={"stop_reason": "pause_turn"}, usage_metadata=usage),
        AIMessage("It rains.", response_metadata={"stop_reason": "end_turn"}, usage_metadata=usage),
    ]
    reply = ask(mode, ChatModel(Pausing(messages=iter(parts))))
    assert reply["content"] == [*searching, "It rains."]
    assert reply["usage"] and reply["usage"]["total_tokens"] == 10
    assert asked[1][-1].content == searching


def test_a_turn_that_never_ends_is_given_up(mode: Mode):
    paused = [AIMessage("on ", response_metadata={"stop_reason": "pause_turn"}) for _ in range(20)]
    with pytest.raises(ReplyCut, match="`pause_turn`"):
        ask(mode, saying(*paused))


def test_a_refusal_has_the_words_of_the_model(mode: Mode):
    blocks: list[str | dict[Any, Any]] = [{"type": "refusal", "refusal": "I will not."}]
    for message in (
        AIMessage("", additional_kwargs={"refusal": "I will not."}, response_metadata={"finish_reason": "stop"}),
        AIMessage("I will not.", response_metadata={"stop_reason": "refusal"}),
        AIMessage(blocks, response_metadata={"status": "completed", "model": "m"}),
    ):
        with pytest.raises(ReplyRefused, match="refused to answer: I will not"):
            ask(mode, saying(message))


def test_what_comes_before_a_stop_word_is_whole():
    said = AIMessage("Action: pay\nObservation: inven", response_metadata={"finish_reason": "length"})
    reply = saying(said).complete(ASK, (), ("\nObservation:",), {})
    assert reply["content"] == "Action: pay" and "cut" not in reply


@pytest.mark.parametrize(
    "returned",
    [
        {"role": "assistant", "content": "Half", "finish_reason": "content_filter"},
        AIMessage("Half", response_metadata={"finish_reason": "content_filter"}),
    ],
)
def test_a_model_of_ones_own_may_say_how_its_message_ended(mode: Mode, returned: object):
    class Own(BaseLLM):
        def call(self, messages: str | list[dict[str, Any]], *args: Any, **kwargs: Any) -> Any:
            return returned

    with pytest.raises(ReplyFiltered, match=r"content_filter"):
        ask(mode, as_model(Own("own")))
