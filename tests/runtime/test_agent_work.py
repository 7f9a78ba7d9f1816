"""What agents do around their work: plans, dates, conversations that are condensed, templates, images; resumed and over HTTP."""

import base64
import threading
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import openai
import pytest
from modes import Mode
from servers.openai_api import Answer, OpenAIServer, Request, call, calls, error, text
from waiting import LIMITS, BlockedCall

from crewgraph import LLM, Crew, ScriptedLLM
from crewgraph.events import (
    AgentReasoningCompletedEvent,
    AgentReasoningFailedEvent,
    AgentReasoningStartedEvent,
)
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.prompts.book import default_book
from crewgraph.runtime.agent.standalone import AgentReasoning
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


# -------------------------------------------------------------------------------------- conversations too long
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


# -------------------------------------------------------------------------------------------------------- plans
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


def test_a_plan_that_failed_is_not_asked_for_again_when_the_run_is_resumed(mode: Mode):
    script: list[Any] = [ConnectionError("no plan"), RuntimeError("down"), "done"]
    made = crew(task("a", agent(ScriptedLLM(script), reasoning=True)))
    with pytest.raises(RuntimeError, match="down"):
        mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t").raw == "done"


def test_planning_takes_from_the_time_for_the_task(mode: Mode):
    for seconds in LIMITS:
        with BlockedCall() as plan:
            model = ScriptedLLM([plan, "done"])
            made = crew(task("a", agent(model, reasoning=True, max_execution_time=seconds)))
            reported = rf"not done after its `max_execution_time` of {seconds:g} seconds"
            with pytest.raises(TimeoutError, match=reported):
                mode.kickoff(made)
        if plan.started.is_set():
            break
    else:
        raise AssertionError("it never began")
    assert len(model.requests) == 1


def test_native_models_hand_their_plan_in_over_http(mode: Mode):
    plan = call("create_reasoning_plan", {"plan": "Look at home.", "ready": True})
    with OpenAIServer([plan, "done"]) as server:
        made = crew(task("a", agent(served(server.url), reasoning=True)))
        assert mode.kickoff(made).raw == "done"
        assert [one["function"]["name"] for one in server.bodies[0]["tools"]] == ["create_reasoning_plan"]
        assert "Look at home." in server.bodies[1]["messages"][1]["content"]


def test_a_plan_can_be_made_on_its_own(mode: Mode):
    worker = agent(ScriptedLLM(["Look.\nREADY"] * 3))
    work = task("a", worker)
    handler = AgentReasoning(task=work, agent=worker)
    made = mode.run(handler.handle_agent_reasoning, handler.ahandle_agent_reasoning)
    assert (made.plan.plan, made.plan.ready) == ("Look.", True)
    assert AgentReasoning(work, worker).handle_agent_reasoning() == made
    described = AgentReasoning(worker, description="Sing", expected_output="A song")
    assert (described.description, described.expected_output) == ("Sing", "A song")
    assert described.handle_agent_reasoning() == made
    assert "Sing" in asked(worker.llm)[-1]


def test_a_plan_that_cannot_be_made_on_its_own_is_an_error():
    worker = agent(ScriptedLLM([ConnectionError("no line")]))
    with pytest.raises(RuntimeError, match="agent `worker` could not make a plan"):
        AgentReasoning(worker, task("a", worker)).handle_agent_reasoning()


# -------------------------------------------------------------------------------------------------------- dates
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


# ---------------------------------------------------------------------------------------------------- templates
def test_templates_reach_the_provider_and_end_the_answer_there(mode: Mode):
    with OpenAIServer(["done"]) as server:
        templates = {
            "system_template": "<s>{{ .System }}</s>",
            "prompt_template": "<p>{{ .Prompt }}</p>",
            "response_template": "<r>{{ .Response }}</r>",
        }
        assert mode.kickoff(crew(task("a", agent(served(server.url), **templates)))).raw == "done"
        (message,) = server.bodies[0]["messages"]
        assert (message["role"], message["content"][:3], message["content"][-8:]) == ("user", "<s>", "</p>\n<r>")
        assert server.bodies[0]["stop"] == ["</r>"]


# ------------------------------------------------------------------------------------------------------- images
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


def test_images_stand_in_the_observation_of_the_text_protocol(mode: Mode, picture: str):
    model = ScriptedLLM(
        [{"name": "Add image to content", "args": {"image_url": "a.png", "action": "What?"}}, "Final Answer: blue"]
    )
    assert mode.kickoff(crew(task("a", agent(model, multimodal=True)))).raw == "blue"
    assert model.requests[-1].messages[-1] == {
        "role": "user",
        "content": [
            {"type": "text", "text": "Observation: Here is the image."},
            {"type": "text", "text": "What?"},
            {"type": "image_url", "image_url": {"url": picture}},
        ],
    }


def test_an_image_that_cannot_be_shown_is_reported(mode: Mode):
    script = [{"name": "Add image to content", "args": {"image_url": "../x.png"}}, "Final Answer: none"]
    model = ScriptedLLM(script)
    assert mode.kickoff(crew(task("a", agent(model, multimodal=True)))).raw == "none"
    assert "Observation: `../x.png` is outside of the working directory" in asked(model)[-1]


def test_an_image_is_not_read_again_when_the_run_is_resumed(mode: Mode, picture: str, tmp_path: Path):
    script: list[Any] = [{"name": "Add image to content", "args": {"image_url": "a.png"}}, RuntimeError("down"), "blue"]
    model = ScriptedLLM(script)
    made = crew(task("a", agent(model, multimodal=True)))
    with pytest.raises(RuntimeError, match="down"):
        mode.kickoff(made, thread_id="t")
    (tmp_path / "a.png").unlink()
    assert mode.resume(made, "t").raw == "blue"
    assert picture in str(model.requests[-1].messages)


def test_a_model_that_sees_images_is_offered_no_tool_for_them(mode: Mode):
    with OpenAIServer(["blue"]) as server:
        model = LLM("openai/gpt-4o", base_url=server.url, api_key="key")
        assert mode.kickoff(crew(task("a", agent(model, multimodal=True, tools=[fetch])))).raw == "blue"
        assert [one["function"]["name"] for one in server.bodies[0]["tools"]] == ["fetch"]


def test_the_tool_comes_once_and_goes_with_the_wish_for_it(mode: Mode):
    model = ScriptedLLM(lambda _: "Final Answer: x")
    worker = agent(model, multimodal=True)
    worker.tools = list(worker.get_multimodal_tools())
    made = crew(task("a", worker))
    mode.kickoff(made)
    assert model.requests[-1].text.count("add_image_to_content: ") == 1
    worker.tools = []
    mode.kickoff(made)
    assert "add_image_to_content: " in model.requests[-1].text
    worker.multimodal = False
    mode.kickoff(made)
    assert "add_image_to_content: " not in model.requests[-1].text


# ---------------------------------------------------------------------------------------------------- streaming
def test_usage_of_streams_is_right_with_tool_calls_plans_and_condensing(mode: Mode):
    used = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}

    def answer(request: Request) -> Answer:
        if request.body["messages"][-1]["role"] == "tool":
            return text("wet", usage=used)
        if "tools" in request.body and request.body["tools"][0]["function"]["name"] == "create_reasoning_plan":
            return text("Fetch it.\nREADY", usage=used)
        expected = call("fetch", {"name": "a"})
        return Answer(message=expected.message, usage=used)

    with OpenAIServer(answer) as server:
        made = crew(task("a", agent(served(server.url, stream=True), tools=[fetch], reasoning=True)))
        result = mode.kickoff(made)
        assert result.raw == "wet"
        assert [body["stream"] for body in server.bodies] == [True] * 3
        usage = result.token_usage
        assert (usage.prompt_tokens, usage.completion_tokens, usage.successful_requests) == (30, 6, 3)
