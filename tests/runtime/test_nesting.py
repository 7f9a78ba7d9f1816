"""Crews inside other graphs and other crews."""

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any, TypedDict, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from modes import Mode, graph_of
from pydantic import BaseModel
from waiting import LONG

from crewgraph import Crew, CrewOutput, Flow, ScriptedLLM, ToolUse, start
from crewgraph.core.journal import JournalError
from crewgraph.errors import CompileError, MissingInput, RunError
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

from .parts import agent, asked, by_prompt, crew, task

AT: Any = {"configurable": {"thread_id": "parent"}}


class Outer(TypedDict, total=False):
    inputs: dict[str, Any]
    first: dict[str, Any]
    second: dict[str, Any]
    answer: str


def two(llm: ScriptedLLM, **more: Any) -> Crew:
    worker = agent(llm)
    return crew(task("first", worker, description="look at {topic}"), task("second", worker), **more)


def parent(node: Any, **compile: Any) -> Any:
    return graph_of(Outer, {"crew": node}, **compile)


class Typed(TypedDict, total=False):
    topic: str
    output: Any


class Modelled(BaseModel):
    topic: str | None = None
    output: Any = None


@dataclass
class Declared:
    topic: str | None = None
    output: Any = None


def around(state: type[Any], node: Any) -> Any:
    return graph_of(state, {"inner": node})


@pytest.mark.parametrize("state", [Typed, Modelled, Declared])
def test_a_placeholder_is_filled_from_the_key_of_its_name_in_the_state_around_the_crew(mode: Mode, state: type[Any]):
    llm = ScriptedLLM(["one", "two"])
    assert mode.invoke(around(state, mode.compile(two(llm))), {"topic": "rain"})["output"] == "two"
    assert "look at rain" in asked(llm)[0]


@pytest.mark.parametrize("state", [Typed, Modelled, Declared])
def test_a_crew_whose_placeholders_the_state_around_it_does_not_hold_is_refused_before_a_model_is_asked(
    mode: Mode, state: type[Any]
):
    llm = ScriptedLLM([])
    with pytest.raises(MissingInput, match="the state of the graph around the crew lacks `topic`, in the description"):
        mode.invoke(around(state, mode.compile(two(llm))), {"output": "x"})
    assert llm.requests == []


class Weather(BaseModel):
    topic: str = "nothing"
    length: int = 0


class Forecast(Flow[Weather]):
    @start()
    def write(self):
        return f"{self.state.topic} in {self.state.length} words"


class Noted(Flow[dict[str, Any]]):
    @start()
    def write(self, topic: str):
        return f"{topic} in {self.state.get('length')} words"


@pytest.mark.parametrize("state", [Typed, Modelled, Declared])
@pytest.mark.parametrize(("flow", "length"), [(Forecast, 0), (Noted, None)])
def test_a_flow_takes_its_fields_and_parameters_from_the_state_around_it(
    mode: Mode, flow: type[Flow[Any]], length: int | None, state: type[Any]
):
    done = mode.invoke(around(state, flow().compile()), {"topic": "rain"})
    assert done["output"] == f"rain in {length} words"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_nested_crew_that_failed_continues_where_it_stopped(mode: Mode, durability: str):
    llm = ScriptedLLM(["one", ConnectionError("down"), "two"])
    graph = parent(mode.compile(two(llm)), checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError, match="down"):
        mode.invoke(graph, {"inputs": {"topic": "rain"}}, AT, durability=durability)
    state = mode.invoke(graph, None, AT, durability=durability)
    assert (state["first"]["raw"], state["second"]["raw"]) == ("one", "two")
    assert len(llm.requests) == 3


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_nested_task_that_failed_after_a_tool_call_does_not_repeat_it(mode: Mode, durability: str):
    done: list[int] = []

    @tool
    def book(i: int) -> str:
        """Book something."""
        done.append(i)
        return f"booked {i}"

    llm = ScriptedLLM([ToolUse("book", {"i": 1}), ConnectionError("down"), "end"])
    graph = parent(mode.compile(crew(task("first", agent(llm, tools=[book])))), checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        mode.invoke(graph, {"inputs": {}}, AT, durability=durability)
    assert mode.invoke(graph, None, AT, durability=durability)["first"]["raw"] == "end"
    assert done == [1]
    assert len(llm.requests) == 3


def kicking_off(made: Crew, mode: Mode) -> Any:
    def call(state: Outer) -> Outer:
        return {"second": {"raw": made.kickoff(state.get("inputs")).raw}}

    async def acall(state: Outer) -> Outer:
        return {"second": {"raw": (await made.akickoff(state.get("inputs"))).raw}}

    return acall if mode.asynchronous else call


class Full(InMemorySaver):
    """Cannot save the checkpoints of one namespace and step."""

    def __init__(self, inside: bool, step: int) -> None:
        super().__init__()
        self.full: tuple[bool, int] | None = (inside, step)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if self.full == (bool(config["configurable"].get("checkpoint_ns")), metadata["step"]):
            raise OSError("disk full")
        return super().put(config, checkpoint, metadata, new_versions)


@pytest.mark.parametrize(("inside", "step"), [(True, 0), (True, 1), (False, 0)])
@pytest.mark.parametrize("called", ["compiled", "kicked off"])
def test_a_checkpoint_that_could_not_be_stored_in_the_background_ends_a_task_at_once_with_the_reason(
    mode: Mode, inside: bool, step: int, called: str
):
    llm = ScriptedLLM(lambda _: "one")
    made, saver = two(llm), Full(inside, step)
    node = mode.compile(made) if called == "compiled" else kicking_off(made, mode)
    graph, began = parent(node, checkpointer=saver), time.monotonic()
    with pytest.raises((JournalError, OSError), match="disk full"):
        mode.invoke(graph, {"inputs": {"topic": "rain"}}, AT, durability="async")
    assert time.monotonic() - began < LONG
    saver.full = None
    assert mode.invoke(graph, None, AT)["second"]["raw"] == "one"


def test_a_step_whose_checkpoint_could_not_be_stored_names_the_thread_and_what_failed(mode: Mode):
    graph = mode.compile(two(ScriptedLLM(lambda _: "one")), checkpointer=Full(False, 1))
    with pytest.raises(JournalError, match="checkpoint of thread `parent` could not be stored.*: disk full.*continue"):
        mode.invoke(graph, {"topic": "rain"}, AT, durability="async")


def test_a_crew_compiled_to_keep_nothing_is_refused_inside_a_graph_that_keeps_its_runs(mode: Mode):
    graph = parent(mode.compile(two(ScriptedLLM([])), checkpointer=False), checkpointer=InMemorySaver())
    with pytest.raises(CompileError, match=r"compiled with `checkpointer=False` runs inside a graph that has a"):
        mode.invoke(graph, {"inputs": {"topic": "rain"}}, AT)


def test_two_crews_as_neighbours_do_not_take_each_others_records(mode: Mode):
    class Both(TypedDict, total=False):
        inputs: dict[str, Any]
        a: dict[str, Any]
        b: dict[str, Any]

    llm = ScriptedLLM(by_prompt)
    graph: Any = StateGraph(Both)
    for name in ("a", "b"):
        graph.add_node(f"crew_{name}", mode.compile(crew(task(name, agent(llm), description=f"say {name}"))))
        graph.add_edge(START, f"crew_{name}")
    state = mode.invoke(graph.compile(checkpointer=InMemorySaver()), {"inputs": {}}, AT)
    assert (state["a"]["raw"], state["b"]["raw"]) == ("a", "b")


def calling(made: Crew, mode: Mode, calls: list[str], **options: Any) -> Any:
    """A node function of somebody's that kicks the crew off and gives what its tasks gave."""

    def reported(result: CrewOutput) -> Outer:
        assert result.token_usage.successful_requests == len(result.tasks_output)
        return {"answer": ", ".join(one.raw for one in result.tasks_output)}

    def node(state: Any) -> Outer:
        calls.append("node")
        return reported(made.kickoff(state["inputs"], **options))

    async def anode(state: Any) -> Outer:
        calls.append("node")
        return reported(await made.akickoff(state["inputs"], **options))

    return anode if mode.asynchronous else node


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_a_kickoff_inside_a_node_shares_its_thread_and_continues_where_it_failed(mode: Mode, durability: str):
    llm, calls = ScriptedLLM(["one", ConnectionError("down"), "two"]), list[str]()
    graph = parent(calling(two(llm), mode, calls), checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError, match="down") as caught:
        mode.invoke(graph, {"inputs": {"topic": "rain"}}, AT, durability=durability)
    assert caught.value.__notes__[0] == "in task `second` of agent `worker`"
    assert mode.invoke(graph, None, AT, durability=durability)["answer"] == "one, two"
    assert calls == ["node", "node"]
    assert len(llm.requests) == 3


def test_a_sync_kickoff_inside_a_sync_node_of_an_async_run_shares_its_thread_too():
    llm = ScriptedLLM(["one", ConnectionError("down"), "two"])
    made = two(llm)

    def node(state: Any) -> Outer:
        return {"answer": made.kickoff(state.get("inputs")).raw}

    graph = parent(node, checkpointer=SqliteCheckpointer(":memory:"))

    async def runs() -> Any:
        with pytest.raises(ConnectionError):
            await graph.ainvoke({"inputs": {"topic": "rain"}}, AT)
        return await graph.ainvoke(None, AT)

    assert asyncio.run(runs())["answer"] == "two"
    assert len(llm.requests) == 3


def test_a_crew_kicked_off_twice_in_a_node_runs_twice(mode: Mode):
    made = crew(task("first", agent(ScriptedLLM(by_prompt)), description="say {word}"))

    def node(state: Any) -> Outer:
        return {"answer": " ".join(made.kickoff({"word": word}).raw for word in ("one", "two"))}

    async def anode(state: Any) -> Outer:
        return {"answer": " ".join([(await made.akickoff({"word": word})).raw for word in ("one", "two")])}

    graph = parent(anode if mode.asynchronous else node, checkpointer=InMemorySaver())
    assert mode.invoke(graph, {"inputs": {}}, AT)["answer"] == "one two"


def test_of_two_kickoffs_in_a_node_the_finished_one_is_not_repeated(mode: Mode):
    llm = ScriptedLLM(["one", ConnectionError("down"), "two"])
    made = crew(task("first", agent(llm)))

    def node(state: Any) -> Outer:
        return {"answer": " ".join(made.kickoff({"n": n}).raw for n in range(2))}

    async def anode(state: Any) -> Outer:
        return {"answer": " ".join([(await made.akickoff({"n": n})).raw for n in range(2)])}

    graph = parent(anode if mode.asynchronous else node, checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        mode.invoke(graph, {"inputs": {}}, AT)
    assert mode.invoke(graph, None, AT)["answer"] == "one two"
    assert len(llm.requests) == 3


def with_helpers(inner_llm: ScriptedLLM, outer_llm: ScriptedLLM, mode: Mode) -> Crew:
    helpers = crew(
        task("inner_a", agent(inner_llm, role="helper"), description="look into {what}"),
        task("inner_b", agent(inner_llm, role="helper")),
        name="helpers",
    )

    @tool
    def ask_helpers(what: str) -> str:
        """Ask the other crew."""
        return helpers.kickoff({"what": what}).raw

    @tool("ask_helpers")
    async def aask_helpers(what: str) -> str:
        """Ask the other crew."""
        return (await helpers.akickoff({"what": what})).raw

    return crew(task("outer", agent(outer_llm, tools=[aask_helpers if mode.asynchronous else ask_helpers])))


def test_a_crew_works_inside_a_tool_of_another_crew(mode: Mode):
    inner, outer = ScriptedLLM(["a", "found"]), ScriptedLLM([ToolUse("ask_helpers", {"what": "rain"}), "told"])
    result = mode.kickoff(with_helpers(inner, outer, mode))
    assert result.raw == "told"
    assert "Observation: found" in outer.requests[1].text
    assert "look into rain" in inner.requests[0].text


def test_a_crew_inside_a_tool_does_not_repeat_what_it_had_done_when_the_process_fell(mode: Mode):
    class Fallen(BaseException):
        pass

    inner_replies: list[Any] = ["a", Fallen(), "found"]

    def inner_reply(_: Any) -> Any:
        reply = inner_replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return reply

    inner, outer = ScriptedLLM(inner_reply), ScriptedLLM([ToolUse("ask_helpers", {"what": "rain"}), "told"])
    made = with_helpers(inner, outer, mode)
    with pytest.raises(Fallen):
        mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t").raw == "told"
    assert inner_replies == []
    assert (len(inner.requests), len(outer.requests)) == (3, 2)


def test_crews_inside_parallel_tool_calls_keep_apart(mode: Mode):
    inner = ScriptedLLM(lambda messages: "about " + json.dumps(messages[-1]["content"]).partition("into ")[2][:1])
    calls = [ToolUse("ask", {"what": what}) for what in "abc"]
    outer = ScriptedLLM([calls, "told"], native_tools=True)
    helper = crew(task("inner", agent(inner, role="helper"), description="look into {what}"))

    @tool
    def ask(what: str) -> str:
        """Ask the other crew."""
        return helper.kickoff({"what": what}).raw

    assert mode.kickoff(crew(task("outer", agent(outer, tools=[ask])))).raw == "told"
    seen = [str(message["content"]) for message in outer.requests[1].messages if message["role"] == "tool"]
    assert seen == ["about a", "about b", "about c"]


@tool("leave")
def leave() -> str:
    """Leave."""
    return str(_leaving().invoke({}))


def _leave(_: Any) -> Any:
    return Command(graph=Command.PARENT, goto="b")


def _leaving() -> Any:
    return graph_of(cast("Any", dict), {"leave": _leave})


def _call_leaving(_: Any) -> None:
    _leaving().invoke({})


@pytest.mark.parametrize("granularity", ["task", "step"])
def test_a_graph_inside_a_task_that_leaves_for_the_graph_around_it_skips_no_task_silently(mode: Mode, granularity: str):
    llm = ScriptedLLM([ToolUse("leave", {}), "Final Answer: done"])
    by_tool = task("a", agent(llm, tools=[leave]))
    by_executor = task("a", agent(ScriptedLLM([]), agent_executor=_leaving()))
    by_callback = task("a", agent(ScriptedLLM(["Final Answer: done"])), callback=_call_leaving)
    for first in (by_tool, by_executor, by_callback):
        last = ScriptedLLM(["Final Answer: last"])
        team = crew(first, task("b", agent(last, role="other")))
        with pytest.raises(
            RunError, match=r"^a graph inside `\w+` returned a `Command` for the graph around it \(goto='b'\)"
        ):
            mode.kickoff(team, granularity=granularity)
        assert last.requests == []
