"""The private parts of LangGraph that `crewgraph.core.pregel` uses, checked against the installed version."""

import asyncio
import dataclasses
import operator
import time
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict, cast

import pytest
from core.parts import at
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal import _constants, _scratchpad
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, RetryPolicy, interrupt
from langgraph.utils.runnable import RunnableCallable
from modes import Mode

from crewgraph.core import pregel
from crewgraph.core.pregel import (
    Place,
    executions,
    failed_save,
    has_next,
    interrupts_in,
    place_of,
    reached,
    trace_on_demand,
    untraced,
    with_answers,
)


class State(TypedDict, total=False):
    seen: str


def test_the_names_of_the_private_keys():
    used: dict[str, str] = {
        name: getattr(pregel, name)
        for name in (
            "LENT_SAVER", "_REPLAY", "_DURABILITY", "_TASK", "_READ", "RESUMING", "_SCRATCHPAD", "_RUNTIME",
            "_CALL", "_NAMESPACE", "_MAP", "_THREAD", "_CHECKPOINT", "_INPUT", "_QUESTION", "_RESUME",
            "_RESUME_MAP", "_OF_THE_RUN", "_SEND",
        )
    }  # fmt: skip
    assert used == {
        "_REPLAY": _constants.CONFIG_KEY_REPLAY_STATE,
        "LENT_SAVER": _constants.CONFIG_KEY_CHECKPOINTER,
        "_DURABILITY": _constants.CONFIG_KEY_DURABILITY,
        "_TASK": _constants.CONFIG_KEY_TASK_ID,
        "_READ": _constants.CONFIG_KEY_READ,
        "RESUMING": _constants.CONFIG_KEY_RESUMING,
        "_OF_THE_RUN": _constants.NULL_TASK_ID,
        "_SCRATCHPAD": _constants.CONFIG_KEY_SCRATCHPAD,
        "_RUNTIME": _constants.CONFIG_KEY_RUNTIME,
        "_CALL": _constants.CONFIG_KEY_CALL,
        "_NAMESPACE": _constants.CONFIG_KEY_CHECKPOINT_NS,
        "_MAP": _constants.CONFIG_KEY_CHECKPOINT_MAP,
        "_THREAD": _constants.CONFIG_KEY_THREAD_ID,
        "_CHECKPOINT": _constants.CONFIG_KEY_CHECKPOINT_ID,
        "_INPUT": START,
        "_QUESTION": _constants.INTERRUPT,
        "_RESUME": _constants.RESUME,
        "_RESUME_MAP": _constants.CONFIG_KEY_RESUME_MAP,
        "_SEND": _constants.CONFIG_KEY_SEND,
    }
    assert (_constants.NS_SEP, _constants.NS_END) == ("|", ":")


def test_the_scratchpad_has_the_counters_and_can_be_replaced():
    fields = {field.name for field in dataclasses.fields(_scratchpad.PregelScratchpad)}
    assert {"interrupt_counter", "call_counter", "subgraph_counter", "resume", "get_null_resume"} <= fields


def _place_graph(found: list[Place], checkpointer: Any, *, fail_first: bool = False) -> Any:
    def look(state: State, config: RunnableConfig) -> State:
        found.append(place_of(config))
        if fail_first and len(found) == 1:
            raise ConnectionError("first attempt")
        return {"seen": "yes"}

    async def alook(state: State, config: RunnableConfig) -> State:
        return look(state, config)

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    graph.add_node(
        "look",
        RunnableCallable(look, alook, name="look", trace=False),
        retry_policy=RetryPolicy(initial_interval=0.001, jitter=False),
    )
    graph.add_edge(START, "look")
    graph.add_edge("look", END)
    return graph.compile(checkpointer=checkpointer)


def test_a_node_finds_its_checkpointer_and_the_checkpoint_it_was_started_from(mode: Mode):
    found: list[Place] = []
    saver = InMemorySaver()
    mode.invoke(_place_graph(found, saver), {}, at("t"), durability="sync")
    (place,) = found
    assert place.saver is saver
    assert (place.thread, place.durability, place.again) == ("t", "sync", False)
    assert place.home is not None
    stored = saver.get_tuple(place.home)
    assert stored is not None
    assert stored.metadata.get("step") == 0
    assert any(task == place.task for task, _, _ in stored.pending_writes or ())


def test_without_a_checkpointer_there_is_a_task_and_no_saver(mode: Mode):
    found: list[Place] = []
    mode.invoke(_place_graph(found, None), {})
    assert found[0].saver is None
    assert found[0].task


def test_a_retry_in_the_process_says_that_the_node_ran_before(mode: Mode):
    found: list[Place] = []
    mode.invoke(_place_graph(found, None, fail_first=True), {})
    assert [place.again for place in found] == [False, True]
    assert found[0].task == found[1].task


def test_in_a_graph_inside_a_graph_the_records_lie_in_the_inner_namespace(mode: Mode):
    found: list[Place] = []
    outer: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    outer.add_node("inner", _place_graph(found, None))
    outer.add_edge(START, "inner")
    saver = InMemorySaver()
    mode.invoke(outer.compile(checkpointer=saver), {}, at("t"))
    (place,) = found
    assert place.saver is saver
    assert place.home is not None
    assert place.home["configurable"]["checkpoint_ns"].startswith("inner:")  # pyright: ignore[reportTypedDictNotRequiredAccess]
    assert saver.get_tuple(place.home) is not None
    assert len(place.above) == 2


class Walk(TypedDict, total=False):
    seen: Annotated[list[str], operator.add]
    reported: str


def _walk(saver: Any) -> Any:
    """Branches that meet, again and again, a choice and a question."""

    def left(state: Walk) -> Walk:
        return {"seen": ["left"]}

    def right(state: Walk) -> Walk:
        return {"seen": ["right"]}

    def meet(state: Walk) -> Walk:
        return {"seen": ["meet"]}

    def ask(state: Walk) -> Walk:
        return {"reported": interrupt("well?")}

    def choose(state: Walk) -> list[str]:
        return ["left", "right"] if len(state.get("seen", ())) < 6 else ["ask"]

    graph: Any = StateGraph(Walk)
    for node in (left, right, meet, ask):
        graph.add_node(node)
    graph.add_edge(START, "left")
    graph.add_edge(START, "right")
    graph.add_edge(["left", "right"], "meet")
    graph.add_conditional_edges("meet", choose, ["left", "right", "ask"])
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


def test_a_checkpoint_tells_whether_something_is_to_run_and_whether_it_is_asked():
    saver = InMemorySaver()
    graph = _walk(saver)
    graph.invoke({"seen": []}, at("t"), durability="sync")
    waiting = saver.get_tuple(at("t"))
    assert waiting is not None and [one.value for one in interrupts_in(waiting.pending_writes or ())] == ["well?"]
    graph.invoke(Command(resume="yes"), at("t"), durability="sync")
    states = list(graph.get_state_history(at("t")))
    found = [saver.get_tuple(state.config) for state in states]
    assert [has_next(one.checkpoint["channel_values"]) for one in found if one] == [
        bool(state.next) for state in states
    ]
    assert [bool(state.next) for state in states] == [False, *[True] * (len(states) - 1)] and len(states) > 6
    assert found[0] is not None and interrupts_in(found[0].pending_writes or ()) == []
    assert [executions(one) for one in found if one] == [
        {task.id: task.name for task in state.tasks if task.name != START} for state in states
    ]


def test_a_checkpoint_of_an_inner_graph_tells_which_executions_come_next():
    outer = StateGraph(Walk)
    outer.add_node("inner", _walk(True))
    outer.add_edge(START, "inner")
    saver = InMemorySaver()
    graph = outer.compile(checkpointer=saver)
    graph.invoke({"seen": []}, at("t"), durability="sync")
    (waiting,) = graph.get_state(at("t"), subgraphs=True).tasks
    assert waiting.state is not None and not isinstance(waiting.state, dict)
    inner = saver.get_tuple(waiting.state.config)
    assert inner is not None and executions(inner) == {task.id: task.name for task in waiting.state.tasks}
    assert list(executions(inner).values()) == ["ask"]


class Visits(TypedDict):
    seen: Annotated[list[str], operator.add]


def _forks(saver: Any, *, failing: str | None = None, left: Sequence[str] = ("left", "right")) -> Any:
    """Two branches, joined before a condition that chooses one of two ends."""

    def node(name: str) -> Any:
        def visit(_: Visits) -> Any:
            if name == failing:
                raise ConnectionError("down")
            return {"seen": [name]}

        return visit

    def choose(_: Visits) -> str:
        return "even"

    graph = StateGraph(Visits)
    for name in (*left, "join", "even", "odd", "last"):
        graph.add_node(name, node(name))
    for name in left:
        graph.add_edge(START, name)
    graph.add_edge([*left], "join")
    graph.add_conditional_edges("join", choose, ["even", "odd"])
    graph.add_edge("even", "last")
    graph.add_edge("odd", "last")
    graph.add_edge("last", END)
    return graph.compile(checkpointer=saver)


def test_the_nodes_that_a_graph_comes_to_from_a_checkpoint_are_told_before_it_runs():
    saver = InMemorySaver()
    graph = _forks(saver)
    graph.invoke({"seen": []}, at("t"), durability="sync")
    found = [saved for saved in saver.list(at("t")) if saved.metadata.get("source") == "loop"]
    assert [reached(graph, saved) for saved in found] == [
        set(),
        {"last"},
        {"even", "last"},
        {"join", "even", "last"},  # what the condition chose is stored
        {"left", "right", "join", "even", "odd", "last"},
    ]


def test_a_branch_whose_writes_are_stored_leads_only_where_it_led_before():
    saver = InMemorySaver()
    with pytest.raises(ConnectionError):
        _forks(saver, failing="right").invoke({"seen": []}, at("t"), durability="sync")
    saved = saver.get_tuple(at("t"))
    assert saved is not None
    assert reached(_forks(saver), saved) == {"left", "right", "join", "even", "odd", "last"}
    edited = _forks(saver, left=("left", "right", "third"))
    assert reached(edited, saved) == {"left", "right"}
    assert edited.invoke(None, at("t"))["seen"] == ["left", "right"]


def test_outside_of_any_graph_there_is_no_task():
    assert place_of({}).task == ""


def test_a_node_can_be_kept_out_of_the_trace(mode: Mode):
    """LangGraph keeps what a node does, with its writers, as `steps` of `PregelNode.node`, which it makes once."""

    class Names(BaseCallbackHandler):
        def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
            names.append(kwargs["name"])

    def look(state: State) -> State:
        seen.append(get_config().get("metadata", {})["langgraph_node"])
        return {"seen": "x"}

    names: list[str] = []
    seen: list[str] = []
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    for name in ("shown", "left_out"):
        graph.add_node(name, look)
    graph.add_edge(START, "shown")
    graph.add_edge("shown", "left_out")
    graph.add_edge("left_out", END)
    compiled = graph.compile(name="graph")
    untraced(compiled, "left_out")
    assert mode.invoke(compiled, {}, {"callbacks": [Names()]}) == {"seen": "x"}
    assert (names, seen) == (["graph", "shown"], ["shown", "left_out"])
    assert all("node" in vars(compiled.nodes[name]) for name in ("shown", "left_out"))


def test_nodes_make_a_run_in_the_trace_where_somebody_watches_and_see_the_same_config_where_nobody_does(mode: Mode):
    runs: list[str] = []
    seen: list[dict[str, Any]] = []

    class Names(BaseCallbackHandler):
        def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
            runs.append(kwargs["name"])

    def look(state: State) -> State:
        config = get_config()
        seen.append({**config.get("metadata", {}), "run_name": config.get("run_name"), "run_id": config.get("run_id")})
        return {"seen": "x"}

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    graph.add_node("look", look)
    graph.add_edge(START, "look")
    compiled = graph.compile(name="graph")
    plain = mode.invoke(compiled, {}, {"metadata": {"k": 1}})
    trace_on_demand(compiled.nodes)
    assert mode.invoke(compiled, {}, {"metadata": {"k": 1}}) == plain
    assert mode.invoke(compiled, {}, {"metadata": {"k": 1}, "callbacks": [Names()]}) == plain
    assert runs == ["graph", "look"]
    before, unwatched, watched = [{**one} for one in seen]
    for one in (before, unwatched, watched):
        for name in ("langgraph_checkpoint_ns", "checkpoint_ns"):
            one.pop(name, None)
    assert before == unwatched == watched


def test_answers_can_be_given_to_a_part_of_a_node_alongside_those_of_the_node(mode: Mode):
    def ask(state: State) -> State:
        before = var_child_runnable_config.get()
        assert before is not None
        token = var_child_runnable_config.set(with_answers(before, ["a", "b"]))
        try:
            inner = [interrupt("first"), interrupt("second")]
            try:
                interrupt("third")
            except GraphInterrupt as stop:
                inner.append(stop.args[0][0].value)
        finally:
            var_child_runnable_config.reset(token)
        return {"seen": " ".join([*inner, interrupt("the node's own")])}

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    compiled = graph.compile(checkpointer=InMemorySaver())
    stopped = mode.invoke(compiled, {}, at("t"))
    assert [one.value for one in stopped["__interrupt__"]] == ["the node's own"]
    assert mode.invoke(compiled, Command(resume="c"), at("t")) == {"seen": "a b third c"}


def test_what_a_node_calls_with_task_has_a_namespace_and_no_checkpoint():
    places: list[pregel.Place] = []

    @task
    def called(text: str) -> str:
        places.append(pregel.place_of(get_config()))
        return text

    @task
    def calling(text: str) -> str:
        return called(text).result()

    @entrypoint(checkpointer=InMemorySaver())
    def program(text: str) -> str:
        places.append(pregel.place_of(get_config()))
        return calling(text).result()

    runs = cast("Any", program)
    runs.invoke("x", at("t"))
    own, inner = places
    assert own.home == inner.home is not None
    assert own.above == inner.above == (own.home,)


class Full(InMemorySaver):
    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        raise OSError("disk full")


def test_a_node_finds_the_save_that_failed_in_the_background_and_no_failed_neighbour(mode: Mode):
    found: dict[str, BaseException | None] = {}

    def look(state: State, config: RunnableConfig) -> State:
        end = time.monotonic() + 0.5
        while (error := failed_save(config)) is None and time.monotonic() < end:
            time.sleep(0.01)
        found[mode.name] = error
        return {}

    async def alook(state: State, config: RunnableConfig) -> State:
        end = time.monotonic() + 0.5
        while (error := failed_save(config)) is None and time.monotonic() < end:
            await asyncio.sleep(0.01)
        found[mode.name] = error
        return {}

    def fail(state: State) -> State:
        raise ValueError("a neighbour")

    for saver, neighbour, expected in ((Full(), None, "disk full"), (InMemorySaver(), fail, None)):
        graph: Any = StateGraph(State)
        graph.add_node("look", RunnableCallable(look, alook))
        graph.add_edge(START, "look")
        if neighbour is not None:
            graph.add_node("fail", neighbour)
            graph.add_edge(START, "fail")
        with pytest.raises((OSError, ValueError)):
            mode.invoke(graph.compile(checkpointer=saver), {"seen": ""}, at("t"), durability="async")
        error = found.pop(mode.name, None)
        assert (error and str(error)) == expected
