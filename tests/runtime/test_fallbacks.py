"""Fallback models: which model is asked, which answered, and what is counted and recorded."""

from collections.abc import Iterator
from typing import Any

import pytest
from modes import Mode
from servers.openai_api import OpenAIServer, cut, error, garbage

from crewgraph import LLM, Crew, ScriptedLLM, ToolUse
from crewgraph.events import LLMCallStartedEvent, LLMFallbackEvent
from crewgraph.llm import prices
from crewgraph.llm.errors import ContextLengthExceeded
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
