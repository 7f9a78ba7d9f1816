"""Fallback models: which model is asked, which answered, and what is counted and recorded."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel
from servers.openai_api import OpenAIServer, calls, cut, error, garbage, text

from crewgraph import LLM, Crew, ScriptedLLM, ToolUse
from crewgraph.errors import ModelError
from crewgraph.events import LLMCallStartedEvent, LLMFallbackEvent
from crewgraph.llm import prices
from crewgraph.llm.errors import ContextLengthExceeded, MissingKey
from crewgraph.llm.fallback import FallbackModel
from crewgraph.llm.resolve import as_model
from crewgraph.testing import record_events
from crewgraph.tools import tool

from .parts import agent, crew, task


@pytest.fixture(autouse=True)
def own_prices() -> Iterator[None]:
    yield
    prices.replace(None)


def named(name: str, server: OpenAIServer, **more: Any) -> LLM:
    options: dict[str, Any] = {"max_retries": 0, **more}
    return LLM(f"openai/{name}", base_url=server.url, api_key="key", **options)


def down(message: str = "down") -> ScriptedLLM:
    return ScriptedLLM([ConnectionError(message)], repeat_last=True, model="first")


def alone(llm: Any, **more: Any) -> Crew:
    return crew(task("t", agent(llm, role="clerk", **more)))


def test_a_model_that_fails_is_replaced_for_that_request_and_the_answer_counts_for_who_gave_it(mode: Mode):
    prices.register("first", input=1, output=1)
    prices.register("third", input=1_000_000, output=0)
    with OpenAIServer([error(500), error(429), "hello"]) as server:
        second, third = named("second", server), named("third", server)
        made = alone(named("first", server, fallbacks=[second, third]))
        with record_events() as events:
            result = mode.kickoff(made)
        assert [body["model"] for body in server.bodies] == ["first", "second", "third"]
    assert result.raw == "hello"
    assert list(result.usage_by_model) == ["third"]
    assert result.cost == result.token_usage.prompt_tokens
    assert [(one.model, one.fallback) for one in events if isinstance(one, LLMFallbackEvent)] == [
        ("first", "second"),
        ("second", "third"),
    ]
    assert [one.model for one in events if isinstance(one, LLMCallStartedEvent)] == ["first", "second", "third"]


@pytest.mark.parametrize(
    "answer", [error(401), error(403), error(404), error(408), error(429), error(503), cut(), garbage()]
)
def test_what_is_the_matter_with_one_model_is_no_matter_for_the_next(mode: Mode, answer: Any):
    with OpenAIServer([answer, "hello"]) as server:
        made = alone([named("first", server), named("second", server)])
        assert mode.kickoff(made).raw == "hello"


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_is_wrong_in_itself_is_made_to_nobody_else(mode: Mode, status: int):
    second = ScriptedLLM(["never"])
    with (
        OpenAIServer([error(status, "no such parameter")]) as server,
        pytest.raises(Exception, match="no such parameter"),
    ):
        mode.kickoff(alone(named("first", server, fallbacks=[second])))
    assert not second.requests


def test_where_all_fail_the_last_error_is_raised_and_reports_the_others(mode: Mode):
    last = ScriptedLLM([TimeoutError("too slow")], repeat_last=True, model="second")
    with pytest.raises(TimeoutError, match="too slow") as failed:
        mode.kickoff(alone([down(), last]))
    assert "`second` was called because `first` failed (ConnectionError: down)" in failed.value.__notes__


def test_a_conversation_that_is_too_long_is_condensed_before_anybody_else_is_asked(mode: Mode):
    @tool
    def look() -> str:
        """Look."""
        return "sea " * 300

    too_long = RuntimeError("maximum context length exceeded")
    second = ScriptedLLM(["never"])
    first = ScriptedLLM([ToolUse("look"), too_long, "short", "Final Answer: done"])
    assert mode.kickoff(alone([first, second], tools=[look])).raw == "done"
    with pytest.raises(ContextLengthExceeded):
        mode.kickoff(alone([ScriptedLLM([too_long]), second], respect_context_window=False))
    assert not second.requests


def test_the_record_knows_who_answered_and_a_resume_asks_nobody_again(mode: Mode):
    with OpenAIServer([error(500), "one", "two"]) as server:
        first = named("first", server, fallbacks=[named("second", server)])
        broken = agent(ScriptedLLM([ValueError("stop"), "end"]))

        def good(output: Any) -> tuple[bool, str]:
            return output.raw == "two", "more" if output.raw != "two" else "two"

        made = crew(task("a", agent(first), guardrail=good), task("b", broken))
        with pytest.raises(ValueError, match="stop"):
            mode.kickoff(made, thread_id="r")
        asked = len(server.requests)
        first.fallbacks = []  # who may stand in can change meanwhile
        result = mode.resume(made, "r")
        assert len(server.requests) == asked == 3
    assert {name: used.successful_requests for name, used in result.tasks_output[0].usage_by_model.items()} == {
        "second": 1,
        "first": 1,
    }


def test_a_run_that_failed_for_want_of_a_model_continues_with_one_to_fall_back_on(mode: Mode):
    looked: list[str] = []

    @tool
    def look() -> str:
        """Look."""
        looked.append("x")
        return "seen"

    first = ScriptedLLM([ToolUse("look"), ConnectionError("down"), ConnectionError("still down")])
    made = alone(first, tools=[look])
    with pytest.raises(ConnectionError):
        mode.kickoff(made, thread_id="w")
    made.agents[0].llm = [first, ScriptedLLM(["Final Answer: by another"])]
    assert mode.resume(made, "w").raw == "by another"
    assert looked == ["x"] and len(first.requests) == 3


def test_tools_are_offered_natively_where_all_models_take_them(mode: Mode):
    @tool
    def add(a: int) -> str:
        """Add one."""
        return str(a + 1)

    with OpenAIServer([error(500), calls(("add", {"a": 1})), error(500), "two"]) as server:
        made = alone([named("gpt-4o", server), named("gpt-4o-mini", server)], tools=[add])
        assert mode.kickoff(made).raw == "two"
        assert all(body["tools"] for body in server.bodies)
    text_alone = as_model([ScriptedLLM([], native_tools=True), ScriptedLLM([])])
    assert not text_alone.native_tools


def test_whatever_may_be_a_model_may_stand_in_for_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    model = as_model(
        LLM("openai/a", fallbacks=["openai/b", {"model": "openai/c", "temperature": 0}, LLM("openai/d").chat_model()])
    )
    assert isinstance(model, FallbackModel)
    assert [one.name for one in model.models] == ["a", "b", "c", "d"]
    flat = as_model(["openai/a", LLM("openai/b", fallbacks=["openai/c"])])
    assert isinstance(flat, FallbackModel) and [one.name for one in flat.models] == ["a", "b", "c"]
    assert flat.identity == as_model("openai/a").identity


def test_lists_that_mean_nothing_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with pytest.raises(ModelError, match="`list` is not a language model"):
        as_model([])
    with pytest.raises(ValueError, match="`fallbacks` must be a list of models"):
        LLM("openai/a", fallbacks="openai/b")
    with pytest.raises(MissingKey, match="GROQ_API_KEY"):
        alone(["openai/a", "groq/llama-3.1-8b"]).kickoff()
    with pytest.raises(ModelError, match="not a language model"):
        alone(LLM("openai/a", fallbacks=[42])).kickoff()


def test_an_llm_that_is_called_by_hand_falls_back_too():
    class Number(BaseModel):
        n: int

    with OpenAIServer([error(500), "hello", error(500), '{"n": 3}', error(500), "again"]) as server:
        llm = named("first", server, fallbacks=[named("second", server)])
        assert llm.call("hi") == "hello"
        assert llm.call("hi", response_model=Number) == Number(n=3)
        assert asyncio.run(llm.acall("hi")) == "again"
    assert llm.get_token_usage_summary().successful_requests == 0


def test_an_answer_through_langchains_own_fallbacks_counts_for_who_gave_it(mode: Mode):
    with OpenAIServer(lambda asked: error(500) if asked.body["model"] == "gpt-4o" else text("hello")) as server:
        chain = named("gpt-4o", server).chat_model().with_fallbacks([named("gpt-4o-mini", server).chat_model()])
        result = mode.kickoff(alone(chain))
    assert result.raw == "hello" and list(result.usage_by_model) == ["gpt-4o-mini"]


def test_each_attempt_counts_as_a_request_of_the_minute(mode: Mode):
    class Counting:
        asked = 0

        def check_or_wait(self) -> bool:
            self.asked += 1
            return True

    controller = Counting()
    made = alone([down(), ScriptedLLM(["done"])])
    made.rpm_controller = controller
    assert mode.kickoff(made).raw == "done" and controller.asked == 2


def test_copies_of_an_agent_share_its_models():
    first, second = ScriptedLLM(["a"]), ScriptedLLM(["b"])
    made = alone([first, second]).copy()
    assert made.agents[0].llm[0] is first and made.agents[0].llm[1] is second
