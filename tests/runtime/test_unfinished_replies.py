"""Replies that are not whole, from a server on loopback: nothing of them runs or counts as an answer, and they are paid."""

import json
from dataclasses import replace
from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel
from servers.openai_api import Answer, OpenAIServer, Request, call, null, text

from crewgraph import LLM, Crew, LLMGuardrail, ScriptedLLM
from crewgraph.errors import ModelError, OutputInvalid
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.llm import LLMCallCompletedEvent, LLMCallFailedEvent
from crewgraph.llm.errors import ReplyCut, ReplyFiltered, ReplyRefused
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer
from crewgraph.tools import tool

from .parts import agent, crew, served, task

TEXT = "Thought: I pay.\nAction: pay\nAction Input: {}"


class Number(BaseModel):
    number: int


class Bank:
    def __init__(self) -> None:
        self.paid: list[int] = []

        @tool
        def pay(euros: int = 900) -> str:
            """Pay."""
            self.paid.append(euros)
            return "paid"

        self.pay = pay


def ended(answer: Answer, reason: str = "length") -> Answer:
    return replace(answer, finish_reason=reason)


def half(delta: dict[str, Any]) -> Answer:
    """A stream that ends after its first part."""
    choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}
    part = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "test", "choices": [choice]}
    return Answer(body=f"data: {json.dumps(part)}\n\n".encode(), headers={"Content-Type": "text/event-stream"})


HALF_CALL = half(
    {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "pay", "arguments": ""}}]}
)


def solo(url: str, *, tools: Any = (), again: int = 2, of_task: dict[str, Any] | None = None, **more: Any) -> Crew:
    return crew(task("a", agent(served(url, **more), tools=list(tools), max_retry_limit=again), **(of_task or {})))


@pytest.mark.parametrize("first", [half({"content": "Half an "}), ended(text("Half an")), ended(null())])
def test_an_answer_that_is_cut_is_requested_again_and_both_are_paid(mode: Mode, first: Answer):
    with OpenAIServer([replace(first, usage=None), "whole"]) as server:
        result = mode.kickoff(solo(server.url, stream=first.body is not None))
        assert result.raw == "whole"
        assert (len(server.requests), result.token_usage.successful_requests) == (2, 2)


def test_a_stream_without_an_end_is_an_error_of_the_request(mode: Mode):
    with OpenAIServer([half({"content": "Half an "})] * 3) as server:
        with pytest.raises(ReplyCut, match="its stream ended without a reason for the end"):
            mode.kickoff(solo(server.url, stream=True, again=0))
        assert len(server.requests) == 1


def test_a_stream_without_an_end_is_asked_of_the_next_model(mode: Mode):
    with OpenAIServer([half({"content": "Half an "})]) as server, OpenAIServer(["whole"]) as other:
        result = mode.kickoff(solo(server.url, stream=True, fallbacks=[LLM("openai/other", base_url=other.url)]))
        assert (result.raw, result.token_usage.successful_requests) == ("whole", 2)


@pytest.mark.parametrize("first", [HALF_CALL, ended(call("pay", {})), ended(call("pay", {}), "banana")])
def test_a_tool_call_of_a_reply_that_is_not_whole_never_runs(mode: Mode, first: Answer):
    bank = Bank()
    with OpenAIServer([first, "done"]) as server:
        assert mode.kickoff(solo(server.url, tools=[bank.pay], stream=first is HALF_CALL)).raw == "done"
    with OpenAIServer(lambda _: first) as server:
        with pytest.raises(ReplyCut, match="Its calls of `pay` were not run"):
            mode.kickoff(solo(server.url, tools=[bank.pay], stream=first is HALF_CALL))
        assert len(server.requests) == 3
    assert bank.paid == []


def test_an_action_in_a_text_with_an_unknown_reason_is_never_taken(mode: Mode):
    bank = Bank()
    with OpenAIServer(lambda _: ended(text(TEXT), "budget")) as server:
        llm = LLM("openai/o1-mini", base_url=server.url, api_key="k")  # it has no tool calls
        with pytest.raises(ReplyCut, match="the unknown reason `budget`, so what it was about to do was not done"):
            mode.kickoff(crew(task("a", agent(llm, tools=[bank.pay], max_retry_limit=1))))
        assert len(server.requests) == 2
    with OpenAIServer([ended(text(TEXT), "budget"), ended(text("Thought: x\nFinal Answer: done"), "budget")]) as server:
        llm = LLM("openai/o1-mini", base_url=server.url, api_key="k")
        assert mode.kickoff(crew(task("a", agent(llm, tools=[bank.pay], max_retry_limit=1)))).raw == "done"
    assert bank.paid == []


@pytest.mark.parametrize("limit", [None, 5])
def test_an_action_in_a_text_that_is_cut_is_never_taken(mode: Mode, limit: int | None):
    bank = Bank()
    for again in (TEXT, "I would like to"):
        with OpenAIServer(lambda _, said=again: ended(text(said))) as server:
            llm = LLM("openai/o1-mini", base_url=server.url, api_key="k", max_tokens=limit)  # it has no tool calls
            with pytest.raises(ReplyCut, match="what it was about to do was not done"):
                mode.kickoff(crew(task("a", agent(llm, tools=[bank.pay], max_retry_limit=1))))
            assert len(server.requests) == 2
    assert bank.paid == []


def test_a_text_at_the_programs_limit_is_taken_with_a_warning(mode: Mode, caplog: pytest.LogCaptureFixture):
    with OpenAIServer([ended(text("Half an"))]) as server:
        assert mode.kickoff(solo(server.url, max_tokens=2)).raw == "Half an"
    assert "in task `a` was cut off (`length`) at max_tokens=2, so its end is missing" in caplog.text


def test_a_text_that_stays_cut_is_taken_with_warnings(mode: Mode, caplog: pytest.LogCaptureFixture):
    with OpenAIServer(lambda _: ended(text("Half an"))) as server:
        assert mode.kickoff(solo(server.url)).raw == "Half an"
        assert len(server.requests) == 3
    assert "in task `a` was cut off (`length`) at the limit of the model or its server" in caplog.text


def test_a_filtered_answer_is_an_error_with_the_reason(mode: Mode):
    with (
        OpenAIServer(lambda _: ended(text("Half an"), "content_filter")) as server,
        pytest.raises(
            ReplyFiltered, match=r"model `.*test` was filtered by its provider in task `a` \(content_filter\)"
        ),
    ):
        mode.kickoff(solo(server.url, again=0))


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_structured_answer_that_is_not_whole_uses_the_attempts(mode: Mode, reason: str):
    first = ended(text('{"number": 1'), reason)
    with OpenAIServer([first, '{"number": 12}']) as server:
        result = mode.kickoff(solo(server.url, of_task={"output_pydantic": Number}))
        assert (result.pydantic, result.token_usage.successful_requests) == (Number(number=12), 2)
    with OpenAIServer(lambda _: first) as server:
        with pytest.raises(ModelError, match=reason):
            mode.kickoff(solo(server.url, of_task={"output_pydantic": Number}))
        assert len(server.requests) == 3


def test_a_refusal_is_an_error_with_the_words_of_the_model(mode: Mode):
    said = "refused to answer in task `a`: I will not do that"
    with OpenAIServer([null(refusal="I will not do that.")]) as server, pytest.raises(ReplyRefused, match=said):
        mode.kickoff(solo(server.url))


def test_events_report_a_reply_that_is_not_whole_as_failed(mode: Mode):
    seen: list[str] = []
    with OpenAIServer([ended(null()), "whole"]) as server, crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(LLMCallCompletedEvent)
        def completed(_source: object, event: LLMCallCompletedEvent) -> None:
            seen.append(f"completed {event.response}")

        @crewai_event_bus.on(LLMCallFailedEvent)
        def failed(_source: object, event: LLMCallFailedEvent) -> None:
            seen.append(event.error.partition(":")[0])

        mode.kickoff(solo(server.url))
    assert seen == ["ReplyCut", "completed whole"]


def test_a_resumed_run_neither_takes_a_cut_reply_as_an_answer_nor_pays_it_twice(mode: Mode, tmp_path: Any):
    def script(request: Request) -> Answer:
        if len(server.requests) == 1:
            return ended(call("pay", {}))
        return text("done") if request.last == "paid" else call("pay", {"euros": 3})

    failing = {"now": True}

    @tool
    def pay(euros: int = 900) -> str:
        """Pay."""
        if failing["now"]:
            raise KeyboardInterrupt
        return "paid"

    with OpenAIServer(script) as server:
        made = solo(server.url, tools=[pay])
        with SqliteCheckpointer(tmp_path / "runs.db") as saver:
            with pytest.raises(KeyboardInterrupt):
                mode.kickoff(made, thread_id="t", checkpointer=saver)
            failing["now"] = False
            result = mode.resume(made, "t", checkpointer=saver)
        assert (result.raw, len(server.requests)) == ("done", 3)
        assert result.token_usage.successful_requests == 3


def test_a_judge_whose_verdicts_are_cut_is_said_to_have_answered(mode: Mode):
    with OpenAIServer([ended(text('{"valid": tr'))] * 2) as server:
        judge = LLMGuardrail("Be kind", served(server.url))
        with pytest.raises(OutputInvalid, match="even after a retry: The answer of the model `test` is not whole"):
            mode.kickoff(crew(task("a", agent(ScriptedLLM(["text"])), guardrail=judge)))
        assert len(server.requests) == 2
