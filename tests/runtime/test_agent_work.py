"""What agents do around their work: plans, dates, conversations that are condensed, templates, images; resumed and over HTTP."""

import base64
import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import openai
import pytest
from langchain.agents.middleware import AgentMiddleware
from modes import Mode
from servers.openai_api import Answer, OpenAIServer, Request, call, calls, error

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.events import (
    AgentReasoningCompletedEvent,
    AgentReasoningFailedEvent,
    AgentReasoningStartedEvent,
    ToolUsageEvent,
    ToolUsageFinishedEvent,
)
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.prompts.i18n import default_book
from crewgraph.testing import record_events
from crewgraph.tools import tool
from crewgraph.tools.base import Tool

from .parts import agent, asked, crew, served, task

BOOK = default_book()
FULL = error(
    400,
    "This model's maximum context length is 4097 tokens. However, your messages resulted in 9000 tokens.",
    code="context_length_exceeded",
)


@tool
def fetch(name: str) -> str:
    """Fetch a page."""
    return f"<{name}> " + "rain " * 1000


def length(request: Request) -> int:
    return sum(len(str(message["content"])) for message in request.body["messages"])


def is_condensing(request: Request) -> bool:
    return bool(request.body["messages"][0]["content"] == BOOK.slice("summarizer_system_message"))


def small(request: Request) -> str | Answer:
    if length(request) > 4000:
        return FULL
    if is_condensing(request):
        return "it rains"
    return call("fetch", {"name": "a"}) if "it rains" not in request.last else "wet"


def test_a_conversation_that_a_provider_refuses_as_too_long_is_condensed(mode: Mode):
    with OpenAIServer(small) as server:
        made = crew(task("a", agent(served(server.url), tools=[fetch])))
        result = mode.kickoff(made)
        assert result.raw == "wet"
        sent = server.bodies
        assert [one["role"] for one in sent[1]["messages"]] == ["system", "user", "assistant", "tool"]
        assert [one["role"] for one in sent[-1]["messages"]] == ["system", "user"]
        assert sent[-1]["messages"][1]["content"].endswith(BOOK.slice("summary", merged_summary="it rains\nit rains"))
        assert "tools" in sent[-1]
        assert not any("tools" in one.body for one in server.requests if is_condensing(one))
        assert result.token_usage.successful_requests == len(sent) - sum(length(one) > 4000 for one in server.requests)


def test_where_it_is_not_respected_the_providers_error_is_the_cause(mode: Mode):
    with OpenAIServer(lambda _: FULL) as server:
        made = crew(task("a", agent(served(server.url), respect_context_window=False)))
        with pytest.raises(ContextLengthExceeded, match="maximum context length is 4097"):
            mode.kickoff(made)
        assert len(server.requests) == 1


def test_a_run_that_ends_while_it_condenses_continues_there(mode: Mode):
    ill = threading.Event()
    ill.set()

    def answer(request: Request) -> str | Answer:
        if is_condensing(request) and ill.is_set() and len(server.requests) == 4:
            return error(503)
        return small(request)

    with OpenAIServer(answer) as server:
        once = Tool(name="fetch", description="Fetch a page.", func=fetch.func, max_usage_count=1)
        made = crew(task("a", agent(served(server.url), tools=[once])))
        with pytest.raises(openai.InternalServerError):
            mode.kickoff(made, thread_id="t")
        assert len(server.requests) == 4
        ill.clear()
        assert mode.resume(made, "t").raw == "wet"
        assert server.bodies[4] == server.bodies[3]
        assert [is_condensing(one) for one in server.requests[4:]] == [True, True, False]


@pytest.mark.parametrize(("native", "middleware"), [(True, []), (False, []), (True, [AgentMiddleware()])])
def test_a_result_that_is_too_long_is_kept_for_a_tool_that_reads_and_searches_it(
    mode: Mode, native: bool, middleware: list[Any]
):
    page, dumped = "rain " * 400_000 + "Snow at last", list[str]()

    @tool
    def dump(name: str) -> str:
        """Return a page."""
        dumped.append(name)
        return page

    def read(**what: Any) -> Callable[[list[dict[str, Any]]], ToolUse]:
        def use(messages: list[dict[str, Any]]) -> ToolUse:
            number = re.findall(r"kept as result (\w+)", str(messages))[-1]
            return ToolUse("read_result", {"result": number, **what})

        return use

    script: list[Any] = [
        ToolUse("dump", {"name": "a"}), read(search="snow"), RuntimeError("down"), read(start=1_999_995),
        ToolUse("read_result", {"result": "other"}), "done",
    ]  # fmt: skip
    model = ScriptedLLM(script, native_tools=native)
    made = crew(task("a", agent(model, tools=[dump], middleware=middleware, max_retry_limit=0)))
    with record_events() as events:
        with pytest.raises(RuntimeError, match="down"):
            mode.kickoff(made, thread_id="t")
        assert mode.resume(made, "t").raw == "done"
    assert dumped == ["a"]
    assert max(len(str(request.messages)) for request in model.requests) < 6000
    text = str(model.requests[-1].messages)
    assert "start=2000000: " + "rain " * 24 + "Snow at last" in text
    assert "rain Snow at last\\n[characters 1999995 to 2000012 of 2000012, the end]" in text
    assert "There is no result `other` to read. Use one of: " in text
    finished = [event for event in events if isinstance(event, ToolUsageFinishedEvent)]
    assert (finished[0].tool_name, len(finished[0].output)) == ("dump", len(page))
    assert {event.tool_name for event in finished} == {"dump", "read_result"}
    assert made.agents[0].tools_results[0]["result"] == page
    if native:
        assert [[one["function"]["name"] for one in request.tools] for request in model.requests][:2] == [
            ["dump"],
            ["dump", "read_result"],
        ]


def test_a_long_result_is_whole_as_the_answer_and_where_better_compaction_is_off(mode: Mode):
    page = "rain " * 10_000
    for result_as_answer, better in ((True, True), (False, False)):
        dump = Tool(name="dump", description="d", func=lambda: page, result_as_answer=result_as_answer)
        model = ScriptedLLM([ToolUse("dump", {}), lambda messages: messages[-1]["content"]], native_tools=True)
        made = crew(task("a", agent(model, tools=[dump], use_better_compaction=better)))
        assert mode.kickoff(made).raw.strip() == page.strip()


@pytest.mark.parametrize(
    ("native", "end"), [(True, ["assistant", "tool", "assistant"]), (False, ["user", "assistant", "user"])]
)
def test_the_messages_of_an_agent_with_native_tools_end_with_its_answer(mode: Mode, native: bool, end: list[str]):
    look = Tool(name="look", description="Look.", func=lambda: "12")
    made = crew(task("a", agent(ScriptedLLM([ToolUse("look", {}), "done"], native_tools=native), tools=[look])))
    (output,) = mode.kickoff(made).tasks_output
    assert [message["role"] for message in output.messages[-3:]] == end
    assert made.agents[0].last_messages == output.messages
    assert (output.messages[-1]["content"] == "done") is native


def test_calls_that_cannot_be_made_start_and_end_and_a_limit_of_uses_is_that_of_one_attempt(mode: Mode):
    @tool("look", max_usage_count=1)
    def look(place: str) -> str:
        """Look."""
        return "12"

    uses = [ToolUse("look", {"place": "a"}), ToolUse("look", {"place": "b"}), "done"]
    model = ScriptedLLM([ToolUse("nothing", {}), ToolUse("look", {"where": 1}), *uses, *uses], native_tools=True)
    one = agent(model, tools=[look])
    with record_events() as events:
        mode.kickoff(crew(task("a", one), task("b", one)))
    heard = [
        (event.type, event.tool_name) for event in events if isinstance(event, ToolUsageEvent) and "usage" in event.type
    ]
    started, finished, error = "tool_usage_started", "tool_usage_finished", "tool_usage_error"
    assert heard == [
        *((started, "nothing"), (finished, "nothing"), (started, "look"), (error, "look")),
        *((started, "look"), (finished, "look")) * 4,
    ]
    results = [message["content"] for message in model.requests[-1].messages if message["role"] == "tool"]
    assert results == ["12", "`look` may be used once and has been. Go on without it."]
    assert look.current_usage_count == 1


def planned(**more: Any) -> tuple[ScriptedLLM, Crew]:
    model = ScriptedLLM(["Look.\nNOT READY: where?", "Look at home.\nREADY", "done"], **more)
    return model, crew(task("a", agent(model, reasoning=True)))


def test_plans_are_made_and_reported(mode: Mode):
    model, made = planned()
    with record_events() as events:
        assert mode.kickoff(made).raw == "done"
    plans = [
        (type(event).__name__, event.attempt, getattr(event, "plan", None), getattr(event, "ready", None))
        for event in events
        if isinstance(event, (AgentReasoningStartedEvent, AgentReasoningCompletedEvent))
    ]
    assert plans == [
        ("AgentReasoningStartedEvent", 1, None, None),
        ("AgentReasoningCompletedEvent", 1, "Look.\nNOT READY: where?", False),
        ("AgentReasoningStartedEvent", 2, None, None),
        ("AgentReasoningCompletedEvent", 2, "Look at home.", True),
    ]
    assert {event.agent_role for event in events if isinstance(event, AgentReasoningStartedEvent)} == {"worker"}
    assert BOOK.slice("plan", plan="Look at home.") in asked(model)[-1]
    assert made.tasks[0].description == "do a"


def test_a_plan_that_cannot_be_made_is_reported_and_the_task_is_done(mode: Mode):
    made = crew(task("a", agent(ScriptedLLM([ConnectionError("no plan"), "done"]), reasoning=True)))
    with record_events() as events:
        assert mode.kickoff(made).raw == "done"
    (failed,) = [event for event in events if isinstance(event, AgentReasoningFailedEvent)]
    assert (failed.attempt, failed.error) == (1, "ConnectionError: no plan")


def test_a_plan_is_not_made_twice_when_the_run_is_resumed(mode: Mode):
    script: list[Any] = ["Look.\nREADY", RuntimeError("down"), "done"]
    made = crew(task("a", agent(ScriptedLLM(script), reasoning=True)))
    with pytest.raises(RuntimeError, match="down"):
        mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t").raw == "done"
    assert len(made.agents[0].llm.requests) == 3


@pytest.fixture
def travel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Goes to a time zone and says what day it is there."""

    def go(zone: str) -> str:
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        return date.today().isoformat()

    yield go
    monkeypatch.undo()
    time.tzset()


WEST, EAST = "Etc/GMT+12", "Etc/GMT-14"
"""26 hours apart: it is never the same day."""


def test_a_run_resumed_on_another_day_continues_with_the_one_it_began_on(mode: Mode, travel: Callable[[str], str]):
    began = travel(WEST)
    model = ScriptedLLM([{"name": "fetch", "args": {"name": "a"}}, RuntimeError("down"), *["Final Answer: done"] * 2])
    made = crew(task("a", agent(model, tools=[fetch], inject_date=True)))
    with pytest.raises(RuntimeError, match="down"):
        mode.kickoff(made, thread_id="t")
    later = travel(EAST)
    assert mode.resume(made, "t").raw == "done"
    mode.kickoff(made)
    dates = [request.text.partition("Today's date: ")[2][:10] for request in model.requests]
    assert dates == [began, began, began, later]


PIXEL = b"\x89PNG\r\n\x1a\n and more"


@pytest.fixture
def picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "a.png").write_bytes(PIXEL)
    monkeypatch.chdir(tmp_path)
    return f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"


def test_images_are_shown_behind_the_results_of_a_native_models_tools(mode: Mode, picture: str):
    expected = calls(
        ("add_image_to_content", {"image_url": "a.png", "action": "Which colour?"}),
        ("fetch", {"name": "b"}),
        ("add_image_to_content", {"image_url": "https://h/b.png"}),
    )
    with OpenAIServer([expected, "blue"]) as server:
        made = crew(task("a", agent(served(server.url), multimodal=True, tools=[fetch])))
        assert mode.kickoff(made).raw == "blue"
        assert [one["function"]["name"] for one in server.bodies[0]["tools"]] == ["fetch", "add_image_to_content"]
        sent = server.bodies[1]["messages"]
        assert [one["role"] for one in sent] == ["system", "user", "assistant", "tool", "tool", "tool", "user"]
        assert sent[3]["content"] == "Here is the image."
        assert sent[-1]["content"] == [
            {"type": "text", "text": "Which colour?"},
            {"type": "image_url", "image_url": {"url": picture}},
            {"type": "text", "text": BOOK.text("tools", "add_image")["default_action"]},  # type: ignore[index]
            {"type": "image_url", "image_url": {"url": "https://h/b.png"}},
        ]


def test_an_image_is_not_read_again_when_the_run_is_resumed(mode: Mode, picture: str, tmp_path: Path):
    script: list[Any] = [{"name": "Add image to content", "args": {"image_url": "a.png"}}, RuntimeError("down"), "blue"]
    model = ScriptedLLM(script)
    made = crew(task("a", agent(model, multimodal=True)))
    with pytest.raises(RuntimeError, match="down"):
        mode.kickoff(made, thread_id="t")
    (tmp_path / "a.png").unlink()
    assert mode.resume(made, "t").raw == "blue"
    assert picture in str(model.requests[-1].messages)
