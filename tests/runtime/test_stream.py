"""`crew.stream` and `crew.astream`: the items of a run, their order and timing."""

import asyncio
import dataclasses
import json
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypedDict, TypeVar

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from modes import Mode, graph_of
from pydantic import BaseModel
from servers.openai_api import OpenAIServer, call
from waiting import LONG

from crewgraph import (
    BaseLLM,
    Custom,
    Finished,
    ModelFinished,
    ModelStarted,
    ScriptedLLM,
    Started,
    Step,
    StreamItem,
    TaskFailed,
    TaskFinished,
    TaskItem,
    TaskOutput,
    TaskStarted,
    Token,
    ToolFinished,
    ToolStarted,
    ToolUse,
)
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.tools import tool

from .parts import agent, crew, served, task

Serve = Callable[[Any], OpenAIServer]
T = TypeVar("T", bound=StreamItem)


@tool
def look(what: str) -> str:
    """Look something up."""
    return f"the {what} is high"


def of(kind: type[T], items: Iterable[StreamItem]) -> list[T]:
    return [item for item in items if isinstance(item, kind)]


def test_run_is_streamed_in_order_from_start_to_output(mode: Mode, serve: Serve):
    clerk = agent(served(serve([call("look", {"what": "sea"}), "it is high"]).url), "Clerk of {what}", tools=[look])
    team = crew(task("mail", clerk, description="How is the {what}?"), name="desk")
    items = list(mode.stream_items(team, {"what": "sea"}, thread_id="one"))
    fields: Any = {"task": "mail", "agent": "Clerk of sea"}
    assert items[:2] == [
        Started(crew="desk", thread_id="one", inputs={"what": "sea"}),
        TaskStarted(**fields, index=0, name="mail", description="How is the sea?"),
    ]
    assert [item.kind for item in items[2:]] == [
        *("model_started", "tool_call_token", "tool_call_token", "model_finished"),
        *("tool_started", "tool_finished", "step"),
        *("model_started", "token", "token", "token", "model_finished", "step"),
        *("task_finished", "finished"),
    ]
    assert all(item.task == "mail" and item.agent == "Clerk of sea" for item in of(TaskItem, items))
    assert of(ToolStarted, items) == [ToolStarted(**fields, tool="look", args={"what": "sea"})]
    assert of(ToolFinished, items) == [
        ToolFinished(**fields, tool="look", args={"what": "sea"}, output="the sea is high", failed=False)
    ]
    assert of(Token, items) == [Token(**fields, text=piece) for piece in ("it", " is", " high")]
    assert [type(item.step) for item in of(Step, items)] == [AgentAction, AgentFinish]
    assert [item.number for item in of(Step, items)] == [1, 2]
    last = items[-1]
    assert isinstance(last, Finished)
    assert (last.output.raw, last.output.thread_id) == ("it is high", "one")
    assert of(TaskFinished, items)[0].output == last.output.tasks_output[0]


def test_each_item_is_there_before_the_next_thing_happens(mode: Mode):
    """The reader hears of the request before the model may answer."""
    may_answer = threading.Event()

    def answer(messages: Any) -> str:
        assert may_answer.wait(LONG)
        return "x"

    items = mode.stream_items(crew(task("a", agent(ScriptedLLM(answer)))))
    for item in items:
        if isinstance(item, ModelStarted):
            may_answer.set()
    assert may_answer.is_set()


def test_pieces_are_there_while_the_model_still_writes(mode: Mode):
    read: list[str] = []
    reported = threading.Condition()

    class Slow(BaseLLM):
        def call(self, messages: Any, *_: Any, **__: Any) -> str:
            for number, piece in enumerate(("a", "b", "c"), 1):
                self._emit_text(piece)
                with reported:
                    assert reported.wait_for(lambda number=number: len(read) >= number, LONG)
            return "abc"

    for item in mode.stream_items(crew(task("a", agent(Slow("slow"))))):
        if isinstance(item, Token):
            with reported:
                read.append(item.text)
                reported.notify_all()
    assert read == ["a", "b", "c"]


def test_items_of_parallel_tasks_interleave_in_order_per_task(mode: Mode):
    both = threading.Barrier(2, timeout=LONG)

    class Meeting(BaseLLM):
        def call(self, messages: Any, *_: Any, **__: Any) -> str:
            for piece in "abc":
                both.wait()
                self._emit_text(piece)
            both.wait()
            return "abc"

    one, two = (task(name, agent(Meeting(name), name), async_execution=True) for name in ("one", "two"))
    items = list(mode.stream_items(crew(one, two, task("last", agent(ScriptedLLM(["x"]), "last")))))
    expected = ["task_started", "model_started", *["token"] * 3, "model_finished", "step", "task_finished"]
    for name in ("one", "two"):
        assert [item.kind for item in of(TaskItem, items) if item.task == name] == expected
    names = [item.task for item in of(Token, items)]
    assert names not in (["one"] * 3 + ["two"] * 3, ["two"] * 3 + ["one"] * 3)
    assert [item.index for item in of(TaskStarted, items)][-1] == 2


def test_models_stream_because_somebody_reads_and_only_then(mode: Mode, serve: Serve):
    server = serve(["one two", "one two"])
    team = crew(task("a", agent(served(server.url))))
    assert [item.text for item in of(Token, mode.stream_items(team))] == ["one", " two"]
    mode.kickoff(team)
    assert [body.get("stream", False) for body in server.bodies] == [True, False]


def test_what_a_run_raises_comes_behind_the_items_of_what_was_done(mode: Mode):
    items: list[StreamItem] = []
    team = crew(task("a", agent(ScriptedLLM(["x"]))), task("b", agent(ScriptedLLM([ConnectionError("down")]))))
    with pytest.raises(ConnectionError, match="down") as caught:
        list(mode.stream_items(team))
    assert "in task `b` of agent `worker`" in caught.value.__notes__
    with pytest.raises(ConnectionError):
        for item in mode.stream_items(crew(task("b", agent(ScriptedLLM([ConnectionError("down")]))))):
            items.append(item)
    assert [item.kind for item in items] == [
        *("started", "task_started", "model_started", "model_finished", "task_failed")
    ]
    finished = of(ModelFinished, items)[0]
    assert (finished.text, finished.error) == ("", "ConnectionError: down")
    assert of(TaskFailed, items)[0].error == "task `b` of agent `worker`: ConnectionError: down"


def test_nothing_runs_before_the_first_item_is_requested(mode: Mode):
    llm = ScriptedLLM(["x"])
    items = mode.stream_items(crew(task("a", agent(llm))))
    assert llm.requests == []
    assert isinstance(next(items), Started)
    assert len(list(items)) > 0
    assert len(llm.requests) == 1


def test_custom_stream_data_of_a_tool_is_streamed(mode: Mode):
    @tool
    def slow() -> str:
        """Work."""
        get_stream_writer()({"done": 0.5})
        return "done"

    items = list(
        mode.stream_items(crew(task("a", agent(ScriptedLLM([ToolUse("slow"), "Final Answer: x"]), tools=[slow]))))
    )
    at = [item.kind for item in items]
    assert of(Custom, items) == [Custom(data={"done": 0.5})]
    assert at.index("tool_started") < at.index("custom") < at.index("tool_finished")


def test_crew_kicked_off_by_a_tool_is_not_streamed(mode: Mode):
    inner = crew(task("inner", agent(ScriptedLLM(["y"], stream=True))))

    @tool
    def ask() -> str:
        """Ask the others."""
        return inner.kickoff().raw

    items = list(
        mode.stream_items(crew(task("outer", agent(ScriptedLLM([ToolUse("ask"), "Final Answer: x"]), tools=[ask]))))
    )
    assert {item.task for item in of(TaskItem, items)} == {"outer"}
    assert of(ToolFinished, items)[0].output == "y"
    assert len(of(Started, items)) == len(of(Finished, items)) == 1


def test_two_streams_of_one_crew_do_not_mix(mode: Mode):
    def answer(messages: Any) -> str:
        return "sea" if "sea" in messages[-1]["content"] else "moon"

    team = crew(task("a", agent(ScriptedLLM(answer, stream=True)), description="{what}"))
    first, second = (mode.stream_items(team, {"what": what}) for what in ("sea", "moon"))
    received: list[list[StreamItem]] = [[], []]
    for _ in range(50):
        for items, stream in zip(received, (first, second), strict=True):
            if (item := next(stream, None)) is not None:
                items.append(item)
    assert [[item.text for item in of(Token, items)] for items in received] == [["sea"], ["moon"]]
    assert [of(Finished, items)[0].output.raw for items in received] == ["sea", "moon"]


def test_a_stream_in_a_node_is_a_part_of_the_graph_around_it(mode: Mode):
    class Page(TypedDict, total=False):
        text: str

    llm = ScriptedLLM([ConnectionError("down"), "x"])
    clerk = ScriptedLLM(["facts"])
    team = crew(task("facts", agent(clerk)), task("text", agent(llm)))

    def write(state: Page) -> Page:
        return {"text": of(Finished, team.stream())[0].output.raw}

    async def awrite(state: Page) -> Page:
        return {"text": of(Finished, [item async for item in team.astream()])[0].output.raw}

    app = graph_of(Page, {"write": awrite if mode.asynchronous else write}, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    with pytest.raises(ConnectionError):
        mode.invoke(app, {}, config)
    assert mode.invoke(app, None, config)["text"] == "x"
    assert len(clerk.requests) == 1


def test_a_web_server_may_take_each_item_on_another_thread():
    """As Starlette does with a generator: each step in a thread of its own, with a context of its own."""
    items: list[StreamItem] = []
    stream = crew(
        task("a", agent(ScriptedLLM(["x y"], stream=True))), task("b", agent(ScriptedLLM(["z"], stream=True)))
    ).stream()

    async def serve() -> None:
        while (item := await asyncio.to_thread(next, stream, None)) is not None:
            items.append(item)

    asyncio.run(serve())
    assert [item.text for item in of(Token, items)] == ["x", " y", "z"]
    assert isinstance(items[-1], Finished)


class Tide(BaseModel):
    height: int


def test_every_item_is_json_and_names_its_kind(mode: Mode, serve: Serve):
    def fine(output: TaskOutput) -> tuple[bool, Any]:
        return True, output

    server = serve([call("look", {"what": "sea"}), '{"height": 3}'])
    tide = task("tide", agent(served(server.url), tools=[look]), output_pydantic=Tide, guardrail=fine)
    items = list(mode.stream_items(crew(tide), {"a": 1}))
    for item in items:
        sent = json.loads(json.dumps(item.to_dict()))
        assert sent["kind"] == item.kind
        assert set(sent) == {field.name for field in dataclasses.fields(item)}
    sent = items[-1].to_dict()["output"]
    assert (sent["pydantic"], sent["tasks_output"][0]["pydantic"]) == ({"height": 3}, {"height": 3})
    step = of(Step, items)[0].to_dict()["step"]
    assert (step["tool"], step["result"]) == ("look", "the sea is high")
    used = of(ModelFinished, items)[0].to_dict()["usage"]
    assert used["successful_requests"] == 1
