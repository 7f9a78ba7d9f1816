"""Retries after long `Retry-After` delays, which provider clients do not handle."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from modes import Mode
from servers.openai_api import Answer, OpenAIServer, error
from waiting import LIMITS

from crewgraph import LLM, Agent, Crew, Task
from crewgraph.core.messages import Message, Reply
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.errors import BudgetExceeded, TimeLimitReached
from crewgraph.events import LLMCallDelayedEvent
from crewgraph.llm.asking import asking
from crewgraph.llm.resolve import as_model
from crewgraph.llm.retry import retried
from crewgraph.testing import record_events

ASK: list[Message] = [{"role": "user", "content": "hello"}]
LONG = 200  # seconds, more than any client waits


def later(value: str, status: int = 429) -> Answer:
    refused = error(status, "too many")
    return Answer(status=status, body=refused.body, headers={"Retry-After": value})


def model_at(server: OpenAIServer, **words: Any) -> LLM:
    return LLM("openai/test", base_url=server.url, api_key="key", **words)


def ask(mode: Mode, server: OpenAIServer, waits: list[float]) -> str:
    model = as_model(model_at(server, max_retries=0))

    def once() -> Program[Reply]:
        return (yield asking(model, ASK, (), (), {}))

    def patient() -> Program[Reply]:
        return retried(once, waits.append, max_retries=2, min_wait=0.0, max_wait=5.0)

    return str(mode.run(lambda: drive(patient()), lambda: adrive(patient()))["content"])


def crew_of(llm: LLM, **more: Any) -> Crew:
    clerk = Agent(role="clerk", goal="g", backstory="b", llm=llm, **more)
    return Crew(agents=[clerk], tasks=[Task(description="d", expected_output="e", agent=clerk)])


@pytest.mark.parametrize("status", [429, 503])
def test_a_request_is_retried_after_the_requested_delay(mode: Mode, status: int):
    waits: list[float] = []
    with OpenAIServer([later("0.4", status), later("0.2", status), "hello"]) as server:
        began = time.monotonic()
        assert ask(mode, server, waits) == "hello"
        assert time.monotonic() - began >= 0.6
    assert waits == [0.4, 0.2]


def test_the_delay_may_be_a_date(mode: Mode):
    waits: list[float] = []
    dates: list[datetime] = []

    def answer(request: Any) -> Any:
        if dates:
            return "hello"
        dates.append(datetime.now(UTC) + timedelta(seconds=3))
        return later(format_datetime(dates[0], usegmt=True))

    with OpenAIServer(answer) as server:
        assert ask(mode, server, waits) == "hello"
    assert datetime.now(UTC) >= dates[0].replace(microsecond=0)
    assert 0 < waits[0] <= 3


@pytest.mark.parametrize("value", ["", "soon", "nan", "inf", "Mon, 99 Foo 2026"])
def test_an_invalid_delay_is_ignored(mode: Mode, value: str):
    waits: list[float] = []
    with OpenAIServer([later(value, 503), "never"]) as server, pytest.raises(Exception, match="too many"):
        ask(mode, server, waits)
    assert not waits


def test_too_many_requests_are_retried_after_the_clients_retries(mode: Mode):
    with OpenAIServer([error(429, "too many"), error(429, "too many"), "hello"]) as server:
        llm, began = model_at(server, max_retries=1), time.monotonic()
        assert mode.run(lambda: llm.call("hello"), lambda: llm.acall("hello")) == "hello"
        assert time.monotonic() - began >= 1


def test_retries_and_delays_are_bounded(mode: Mode):
    waits: list[float] = []
    with OpenAIServer([later("0.1")] * 3) as server:
        with pytest.raises(Exception, match="too many"):
            ask(mode, server, waits)
        assert len(server.requests) == 3
    with OpenAIServer([later("6")]) as server, pytest.raises(Exception, match="too many") as failed:
        ask(mode, server, waits)
    assert failed.value.__notes__ == [
        "the provider asks to retry after 6 seconds (`Retry-After`), but CREWGRAPH_MAX_RETRY_AFTER allows 5"
    ]


def test_an_agents_time_ends_the_wait(mode: Mode):
    with OpenAIServer(lambda _: later(str(LONG))) as server:
        crew, began = crew_of(model_at(server)), time.monotonic()
        for seconds in (1, 10, 60):
            crew.agents[0].max_execution_time = seconds
            with record_events() as events, pytest.raises(TimeLimitReached):
                mode.kickoff(crew)
            if any(isinstance(event, LLMCallDelayedEvent) for event in events):
                break
        assert time.monotonic() - began < LONG
    assert [(event.seconds, event.max_rpm) for event in events if isinstance(event, LLMCallDelayedEvent)] == [
        (LONG, None)
    ]


def test_a_crews_time_ends_the_wait_and_the_run_continues_later(mode: Mode):
    with OpenAIServer([later(str(LONG)), "hello"]) as server:
        crew = crew_of(model_at(server))
        for seconds in LIMITS:
            crew.max_seconds = seconds
            with pytest.raises(BudgetExceeded):
                mode.kickoff(crew, thread_id="w")
            if server.requests:
                break
        crew.max_seconds = 2 * LONG
        assert mode.resume(crew, "w").raw == "hello"


def test_cancellation_ends_the_wait():
    with OpenAIServer([later(str(LONG))]) as server:

        async def run() -> None:
            running = asyncio.create_task(crew_of(model_at(server)).akickoff(checkpointer=False))
            while not server.requests:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

        began = time.monotonic()
        asyncio.run(run())
        assert time.monotonic() - began < LONG
