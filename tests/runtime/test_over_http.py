"""Crews at an OpenAI-compatible endpoint on loopback: what it answers, how it misbehaves, and what of it reaches the caller."""

import asyncio
import threading
from typing import Any

import openai
import pytest
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain.chat_models import init_chat_model
from langchain_core.messages import ToolMessage
from langchain_core.runnables import ConfigurableField
from langchain_core.tools import tool as langchain_tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from servers.openai_api import Answer, OpenAIServer, Request, call, calls, cut, empty, error, garbage, hang, null
from waiting import LONG

from crewgraph import Crew
from crewgraph.errors import ModelError, OutputInvalid
from crewgraph.llm.errors import UnreadableAnswer
from crewgraph.tools import tool

from .parts import agent, crew, served, task


def solo(url: str, *, tools: Any = (), **more: Any) -> Crew:
    return crew(task("a", agent(served(url, **more), tools=list(tools), max_retry_limit=2)))


def test_native_tool_calls_run_at_the_same_time_and_their_results_go_back_by_id(mode: Mode):
    meeting = threading.Barrier(3, timeout=LONG)

    @tool
    def look(i: int) -> str:
        """Look at something."""
        meeting.wait()
        return f"<{i}>"

    with OpenAIServer([calls(("look", {"i": 0}), ("look", {"i": 1}), ("look", {"i": 2})), "seen"]) as server:
        assert mode.kickoff(solo(server.url, tools=[look])).raw == "seen"
        assert [one["function"]["name"] for one in server.bodies[0]["tools"]] == ["look"]
        sent = server.bodies[1]["messages"][-4:]
        assert [one["id"] for one in sent[0]["tool_calls"]] == ["call_0_look", "call_1_look", "call_2_look"]
        assert [(one["tool_call_id"], one["content"]) for one in sent[1:]] == [
            ("call_0_look", "<0>"),
            ("call_1_look", "<1>"),
            ("call_2_look", "<2>"),
        ]


def test_arguments_that_are_no_json_are_reported_to_the_model_which_mends_them(mode: Mode):
    @tool
    def look(i: int) -> str:
        """Look at something."""
        return f"<{i}>"

    with OpenAIServer([call("look", '{"i": 1'), call("look", {"i": "one"}), call("look", {"i": 1}), "seen"]) as server:
        made = solo(server.url, tools=[look])
        assert mode.kickoff(made).raw == "seen"
        assert [body["messages"][-1]["role"] for body in server.bodies] == ["user", "tool", "tool", "tool"]
        assert server.bodies[3]["messages"][-1]["content"] == "<1>"
        assert (made.tasks[0].used_tools, made.tasks[0].tools_errors) == (3, 2)


@pytest.mark.parametrize("streams", [False, True])
def test_a_list_in_the_place_of_arguments_is_the_only_argument(mode: Mode, streams: bool):
    seen: list[list[int]] = []

    @tool
    def add(numbers: list[int]) -> str:
        """Add numbers."""
        seen.append(numbers)
        return str(sum(numbers))

    for written in ("[1, 2]", ' "[1, 2]"', '{"numbers": [1, 2]}', '{"numbers": "[1, 2]"}', '[{"numbers": [1, 2]}]'):
        with OpenAIServer([call("add", written), "three"]) as server:
            assert mode.kickoff(solo(server.url, tools=[add], stream=streams)).raw == "three"
            assert len(server.bodies) == 2
            assert server.bodies[1]["messages"][-1]["content"] == "3"
    assert seen == [[1, 2]] * 5
    with OpenAIServer([call("add", "[1, [2]]"), "sorry"]) as server:
        assert mode.kickoff(solo(server.url, tools=[add], stream=streams)).raw == "sorry"
        assert server.bodies[1]["messages"][-1]["content"].startswith("`add` was not used: `numbers.1`")


FAILURES: list[tuple[str, Answer, type[Exception]]] = [
    ("500", error(500, "broken"), openai.InternalServerError),
    ("401", error(401, "who are you", code="invalid_api_key"), openai.AuthenticationError),
    ("429", error(429, "too many"), openai.RateLimitError),
    ("404", error(404, "no such model", code="model_not_found"), openai.NotFoundError),
    ("hang", hang(), openai.APITimeoutError),
    ("cut", cut(), openai.APIConnectionError),
    ("garbage", garbage(), UnreadableAnswer),
    ("no choices", empty(), UnreadableAnswer),
]


@pytest.mark.parametrize(("answer", "kind"), [one[1:] for one in FAILURES], ids=[one[0] for one in FAILURES])
def test_a_failure_reaches_the_caller_as_the_provider_raised_it_and_names_task_and_agent(
    mode: Mode, answer: Answer, kind: type[Exception]
):
    with OpenAIServer(lambda _: answer) as server:
        with pytest.raises(kind) as caught:
            mode.kickoff(solo(server.url, timeout=0.5 if answer.hangs else LONG))
        assert "in task `a` of agent `worker`" in caught.value.__notes__
        assert len(server.requests) == 1


def test_a_null_content_is_requested_again_and_then_reported(mode: Mode):
    with OpenAIServer([null(), "hello"]) as server:
        assert mode.kickoff(solo(server.url)).raw == "hello"
    with OpenAIServer(lambda _: null()) as server:
        with pytest.raises(OutputInvalid, match=r"task `a` of agent `worker`: the model `.*test` replied with nothing"):
            mode.kickoff(solo(server.url))
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "reason", "stream"),
    [
        (null(finish_reason="content_filter"), "was filtered by its provider in task `a` (content_filter)", False),
        (null(finish_reason="length"), "is not whole in task `a`: `length`. Raise `max_tokens`", True),
        (null(refusal="I cannot help with that."), "refused to answer in task `a`: I cannot help with that.", False),
        (null(), "in a row. Check the model", False),
        (null(), "in a row. Check the model", True),
    ],
)
def test_an_empty_reply_is_reported_with_its_reason(mode: Mode, answer: Answer, reason: str, stream: bool):
    with OpenAIServer(lambda _: answer) as server, pytest.raises((OutputInvalid, ModelError)) as empty:
        mode.kickoff(solo(server.url, stream=stream))
    assert reason in str(empty.value)


def test_a_failed_run_is_resumed_once_the_server_is_well_without_asking_anything_twice(mode: Mode):
    ill = threading.Event()
    ill.set()

    @tool
    def look(i: int) -> str:
        """Look at something."""
        return f"<{i}>"

    def answer(request: Request) -> str | Answer:
        if "do second" not in str(request.body["messages"]):
            return "first done"
        if request.body["messages"][-1]["role"] == "user":
            return call("look", {"i": 7})
        return error(503, "come back later") if ill.is_set() else f"second done with {request.last}"

    with OpenAIServer(answer) as server:
        worker = agent(served(server.url), tools=[look])
        made = crew(task("first", worker), task("second", worker))
        with pytest.raises(openai.InternalServerError) as caught:
            mode.kickoff(made, thread_id="t")
        assert caught.value.__notes__[0] == "in task `second` of agent `worker`"
        assert len(server.requests) == 3
        ill.clear()
        result = mode.resume(made, "t")
        assert [one.raw for one in result.tasks_output] == ["first done", "second done with <7>"]
        assert len(server.requests) == 4
        assert result.token_usage.successful_requests == 3


def _configurable(kind: str, url: str) -> Any:
    where: Any = {"base_url": url, "api_key": "k", "max_retries": 0}
    make: Any = init_chat_model
    if kind in ("any", "model"):
        fields = "any" if kind == "any" else ("model",)
        return make("small", model_provider="openai", configurable_fields=fields, **where)
    chat: Any = ChatOpenAI(model="small", **where)
    if kind == "fields":
        return chat.configurable_fields(model_name=ConfigurableField(id="model"))
    return chat.configurable_alternatives(
        ConfigurableField(id="model"), default_key="small", large=ChatOpenAI(model="large", **where)
    )


@pytest.mark.parametrize("kind", ["any", "model", "fields", "alternatives"])
def test_a_configurable_model_works_on_several_event_loops(kind: str):
    @tool
    def look(town: str) -> str:
        """Look."""
        return "rain"

    names = ["small", "large", "large", "small"]
    for tools, answers in (([], ["done"]), ([look], [call("look", {"town": "Ulm"}), "done"])):
        with OpenAIServer(answers * 4) as server:
            team = crew(task("a", agent(_configurable(kind, server.url), tools=tools, max_retry_limit=0)))
            for name in names:
                config: Any = {} if name == "small" else {"configurable": {"model": name}}
                assert asyncio.run(team.akickoff(config=config, checkpointer=False)).raw == "done"
            assert [body["model"] for body in server.bodies] == [name for name in names for _ in answers]
            assert all(("tools" in body) == bool(tools) for body in server.bodies)


@langchain_tool(response_format="content_and_artifact")
def chart(place: str) -> tuple[str, dict[str, int]]:
    """Chart a place."""
    return f"a chart of {place}", {"pages": 1}


@langchain_tool
def depth(place: str) -> str:
    """Sound the depth."""
    return f"3 in {place}"


def _shown(graph: Any, mode: Mode) -> list[object]:
    """What a front end is shown of a run; fails unless its messages are whole."""
    config, given = {"configurable": {"thread_id": "1"}}, {"messages": [("user", "the bay")]}
    events = mode.stream(graph, given, config, stream_mode=["messages", "tools"], subgraphs=True)
    messages: list[Any] = [event[0] for _, kind, event in events if kind == "messages"]
    results = [one for one in messages if isinstance(one, ToolMessage)]
    asked = {call["id"] for one in messages for call in getattr(one, "tool_calls", ()) if call["id"]}
    assert {one.tool_call_id for one in results} == asked
    last = mode.state(graph, config).values["messages"][-1]
    chunks = [one for one in messages if one.id == last.id]
    whole: Any = sum(chunks[1:], chunks[0])
    assert whole.usage_metadata["total_tokens"] == last.usage_metadata["total_tokens"]
    uses = [
        (one["event"], one["tool_call_id"], "output" in one and one["output"].model_dump(exclude={"id"}))
        for _, kind, one in events
        if kind == "tools"
    ]
    told = [one.model_dump(exclude={"id"}) for one in results if one.name != "nothing"]
    return [sorted(map(str, uses)), sorted(map(str, told)), len(results), len(chunks)]


def test_a_front_end_is_shown_the_same_messages_as_with_create_agent(mode: Mode):
    twice = calls(("chart", {"place": "bay"}), ("depth", {"place": "bay"}))
    shown: list[object] = []
    for is_crew in (True, False):
        with OpenAIServer([twice, call("nothing", {}), "three words here"]) as server:
            key: Any = "k"
            model = ChatOpenAI(model="test", base_url=server.url, api_key=key, streaming=True, stream_usage=True)
            team = crew(task("one", agent(model, tools=[chart, depth]), description="Chart {place}."))
            graph: Any = (  # pyright: ignore[reportUnknownVariableType]
                mode.compile(team, messages=True, checkpointer=InMemorySaver())
                if is_crew
                else create_agent(model, [chart, depth], checkpointer=InMemorySaver())
            )
            shown.append(_shown(graph, mode))
    assert shown[0] == shown[1]
