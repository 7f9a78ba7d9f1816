"""Random graphs run with LangGraph's supersteps and with crewgraph's replacements: the same streams, errors and rows."""

import gc
import operator
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, FunctionType
from typing import Annotated, Any, TypedDict, cast

import pytest
from combinations import of
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langgraph._internal import _constants
from langgraph.channels.any_value import AnyValue
from langgraph.channels.delta import DeltaChannel
from langgraph.channels.topic import Topic
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.errors import GraphRecursionError, InvalidUpdateError, ParentCommand
from langgraph.func import task
from langgraph.graph import END, START, StateGraph
from langgraph.pregel import Pregel, _loop, _runner
from langgraph.runtime import Runtime
from langgraph.types import Command, RetryPolicy, Send, interrupt
from modes import Mode

from crewgraph.core import saving, supersteps


def _joined(before: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*before, *(text for write in writes for text in write)]


class State(TypedDict, total=False):
    seen: Annotated[list[str], operator.add]
    last: str
    word: Annotated[str, AnyValue]
    received: Annotated[list[str], Topic(str)]
    passing: Annotated[str, UntrackedValue]
    reported: Annotated[list[str], DeltaChannel(_joined, snapshot_frequency=2)]


Drawn = tuple[tuple[tuple[str, ...], ...], bool, bool]
"""The kinds of nodes of each layer; whether each layer joins the one before; whether a router chooses the first layer."""


@task
def shouted(text: str) -> str:
    return text.upper()


def _fails_once(name: str, runtime: Runtime[Any]) -> State:
    info = runtime.execution_info
    if info is not None and info.node_attempt == 1:
        raise ConnectionError(name)
    return {}


def _fails(name: str, runtime: Runtime[Any]) -> State:
    raise ValueError(f"{name} does not work")


def _says(name: str, runtime: Runtime[Any]) -> State:
    get_stream_writer()(name)
    return {}


def _goes_on(name: str, runtime: Runtime[Any]) -> "Command[Any]":
    return Command(update={"last": name}, goto="last")


def _sends(name: str, runtime: Runtime[Any]) -> "Command[Any]":
    return Command(goto=[Send("each", {"last": f"{name} {number}"}) for number in range(2)])


NODES: dict[str, Callable[[str, Runtime[Any]], Any]] = {
    "plain": lambda name, _: {"seen": [name]},
    "writes a word": lambda name, _: {
        "word": name,
        "received": name,
        "passing": name,
        "last": name,
        "reported": [name],
    },
    "says": _says,
    "fails": _fails,
    "fails once": _fails_once,
    "asks": lambda name, _: {"seen": [f"{name} hears {interrupt(name)}"]},
    "goes on": _goes_on,
    "sends": _sends,
    "has a task": lambda name, _: {"seen": [shouted(name).result()]},
    "is silent": lambda name, _: None,
}


_beside = st.lists(st.sampled_from([kind for kind in NODES if kind != "fails"]), min_size=1, max_size=3).map(tuple)
_layer = st.one_of(_beside, _beside, st.just(("fails",)))  # what else a layer does by then is a race
_layers = st.lists(_layer, min_size=1, max_size=4)
_graphs: st.SearchStrategy[Drawn] = st.tuples(_layers.map(tuple), st.booleans(), st.booleans())


def _node(name: str, kind: str) -> Callable[..., Any]:
    def node(state: State, runtime: Runtime[Any]) -> Any:
        info = runtime.execution_info
        assert info is not None and info.node_first_attempt_time is not None
        get_stream_writer()(f"{name} sees {len(state.get('seen', []))} {state.get('received')} {state.get('word')}")
        return NODES[kind](name, runtime)

    return node


def _each(state: State) -> State:
    return {"seen": [f"each of {state.get('last')}"]}


def _at_last(state: State) -> State:
    return {"seen": ["last"]}


def _to(names: list[str]) -> Callable[[State], list[str]]:
    return lambda _: names


def _compiled(drawn: Drawn, saver: Any, *, light: bool) -> Any:
    layers, joins, routed = drawn
    builder: Any = StateGraph(State)
    retry = RetryPolicy(initial_interval=0.001, jitter=False, retry_on=ConnectionError)
    before: list[str] = []
    for depth, kinds in enumerate(layers):
        names = [f"{depth}-{place}" for place in range(len(kinds))]
        for name, kind in zip(names, kinds, strict=True):
            builder.add_node(name, _node(name, kind), retry_policy=retry if kind == "fails once" else None)
        if not before and routed:
            builder.add_conditional_edges(START, _to(names), names)
        elif not before:
            for name in names:
                builder.add_edge(START, name)
        elif joins:
            for name in names:
                builder.add_edge(before, name)
        else:
            for one in before:
                for name in names:
                    builder.add_edge(one, name)
        before = names
    builder.add_node("each", _each)
    builder.add_node("last", _at_last, defer=True)
    builder.add_edge(before, "last")
    graph = builder.compile(checkpointer=saver)
    return saving.InlineGraph(**vars(graph)) if light else graph


def _streamed(mode: Mode, graph: Any, modes: Sequence[str], **options: Any) -> list[str]:
    """What two runs of a thread stream, with answers to their questions, and the state at their end."""
    reported: list[str] = []
    for word in ("one", "two"):
        try:
            reported += _run(mode, graph, {"seen": [word], "last": word}, modes, options)
            if graph.checkpointer is not None:
                state = mode.state(graph, CONFIG)
                reported += [repr(sorted(state.values.items())), f"next: {sorted(state.next)}"]
        except (ValueError, InvalidUpdateError, GraphRecursionError) as error:
            reported += [repr(error), *(note.partition(" and id ")[0] for note in getattr(error, "__notes__", ()))]
    return reported


def _run(mode: Mode, graph: Any, value: Any, modes: Sequence[str], options: dict[str, Any]) -> Iterator[str]:
    while value is not None:
        yield from sorted(map(_without_ids, mode.stream(graph, value, CONFIG, stream_mode=list(modes), **options)))
        waiting = mode.state(graph, CONFIG).interrupts if graph.checkpointer is not None else ()
        value = Command(resume={question.id: f"yes, {question.value}" for question in waiting}) if waiting else None


CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}, "recursion_limit": 12}


def _without_ids(part: Any) -> str:
    mode, value = part
    if "__interrupt__" in str(value):
        return f"{mode}: asked {sorted(question.value for question in value['__interrupt__'])}"
    return f"{mode}: {value}"


@pytest.mark.parametrize("stored", [False, True], ids=["not stored", "stored"])
@settings(max_examples=of(25, 500), deadline=None)
@given(drawn=_graphs)
def test_drawn_graphs_stream_and_store_what_langgraph_streams_and_stores(drawn: Drawn, stored: bool):
    for mode in (Mode("sync"), Mode("async")):
        ours, theirs = (_compiled(drawn, InMemorySaver() if stored else None, light=light) for light in (True, False))
        options = {"durability": "sync"} if stored else {}
        modes = ("updates", "values", "custom")
        assert _streamed(mode, ours, modes, **options) == _streamed(mode, theirs, modes, **options)
        if stored:
            assert _steps(ours) == _steps(theirs)


def _steps(graph: Any) -> list[Any]:
    return [
        (
            one.metadata,
            sorted(one.checkpoint["channel_versions"]),
            repr(sorted(one.checkpoint["channel_values"].items())),
            one.checkpoint["updated_channels"],
        )
        for one in graph.checkpointer.list(CONFIG)
    ]


CHAIN: Drawn = ((("plain",), ("writes a word",), ("plain",)), False, False)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether each run that began has handed its input on by itself."""
    reported: list[bool] = []
    hand_on = supersteps.LeanLoop.apply_input

    def recorded(loop: supersteps.LeanLoop) -> bool:
        reported.append(hand_on(loop))
        return reported[-1]

    monkeypatch.setattr(supersteps.LeanLoop, "apply_input", recorded)
    yield reported


def test_the_input_is_passed_on_without_a_step_of_its_own(mode: Mode, started: list[bool]):
    _streamed(mode, _compiled(CHAIN, InMemorySaver(), light=True), ["updates"], durability="sync")
    _streamed(mode, _compiled(CHAIN, None, light=True), ["updates"])
    assert started == [True] * 4


@pytest.mark.parametrize("watching", ["debug", "tasks", "checkpoints"])
def test_who_watches_steps_sees_that_of_the_input(watching: str, mode: Mode, started: list[bool]):
    shown = [
        mode.stream(
            _compiled(CHAIN, InMemorySaver(), light=light),
            {"seen": []},
            {"configurable": {"thread_id": "t"}},
            stream_mode=watching,
        )
        for light in (True, False)
    ]
    assert started == [False]
    assert len(shown[0]) == len(shown[1])


def test_a_router_at_the_start_takes_the_input_in_a_step_of_its_own(mode: Mode, started: list[bool]):
    _streamed(mode, _compiled((CHAIN[0], False, True), None, light=True), ["updates"])
    assert started == [False, False]


def test_an_input_that_does_not_fit_is_refused_as_langgraph_refuses_it(mode: Mode):
    for light in (True, False):
        with pytest.raises(InvalidUpdateError, match="Expected dict, got text") as refused:
            mode.invoke(_compiled(CHAIN, None, light=light), "text")
        assert "During task with name '__start__'" in refused.value.__notes__[0]


def test_a_command_to_the_graph_around_it_leaves_a_node(mode: Mode):
    def leave(state: State) -> Any:
        raise ParentCommand(Command(graph=Command.PARENT, goto="after", update={"seen": ["left"]}))

    inner: Any = StateGraph(State)
    inner.add_node("leave", leave)
    inner.add_edge(START, "leave")
    light = saving.InlineGraph(**vars(inner.compile()))
    outer: Any = StateGraph(State)
    outer.add_node("inner", light)
    outer.add_node("after", _at_last)
    outer.add_edge(START, "inner")
    graph = saving.InlineGraph(**vars(outer.compile()))
    assert mode.invoke(graph, {"seen": []})["seen"] == ["left", "last"]


def test_an_error_of_a_node_holds_no_frame_that_holds_it(mode: Mode):
    class Held:
        pass

    left: list[weakref.ref[Held]] = []

    def fail(state: State) -> State:
        held = Held()
        left.append(weakref.ref(held))
        raise ValueError("does not work")

    builder: Any = StateGraph(State)
    builder.add_node("fail", fail)
    builder.add_edge(START, "fail")
    graph = saving.InlineGraph(**vars(builder.compile()))
    plain = builder.compile()

    def alive(graph: Any) -> bool:
        gc.collect()
        gc.disable()
        try:
            with pytest.raises(ValueError, match="does not work"):
                mode.invoke(graph, {"seen": []})
            return left.pop()() is not None
        finally:
            gc.enable()

    assert alive(graph) == alive(plain)


def test_callbacks_see_the_runs_that_they_see_with_langgraphs_own(mode: Mode):
    class Runs(BaseCallbackHandler):
        def __init__(self) -> None:
            self.names: list[str] = []

        def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
            self.names.append(str(kwargs.get("name")))

    seen: list[list[str]] = []
    for light in (True, False):
        handler = Runs()
        mode.invoke(_compiled(CHAIN, None, light=light), {"seen": []}, {"callbacks": [handler]})
        seen.append(handler.names)
    assert seen[0] == seen[1]


def _writing(name: str) -> Callable[[Any], dict[str, str]]:
    return lambda _: {name: "done"}


@pytest.mark.parametrize(
    ("caller", "method"),
    [("apply_writes", "is_available"), ("create_checkpoint", "checkpoint")],
    ids=["to apply writes", "for a checkpoint"],
)
def test_a_step_does_not_look_at_channels_that_it_cannot_change(caller: str, method: str):
    def looks(nodes: int, *, light: bool) -> float:
        """How many channels are looked at for a step, by LangGraph's function or what stands in its place."""
        names = [f"n{number}" for number in range(nodes)]
        builder: Any = StateGraph(cast("Any", TypedDict)("Wide", dict.fromkeys(names, str)))
        for name, following in zip(names, [*names[1:], END], strict=True):
            builder.add_node(name, _writing(name))
            builder.add_edge(name, following)
        builder.add_edge(START, names[0])
        compiled = builder.compile(checkpointer=InMemorySaver())
        graph: Any = saving.InlineGraph(**vars(compiled)) if light else compiled
        looked = 0

        def count(frame: FrameType, event: str, _: object) -> None:
            nonlocal looked
            called_by = frame.f_back
            if event == "call" and called_by is not None and called_by.f_code.co_name in (caller, "checkpoint"):
                looked += frame.f_code.co_name == method

        sys.setprofile(count)
        try:
            graph.invoke({"n0": ""}, {"recursion_limit": 1000, "configurable": {"thread_id": "wide"}})
        finally:
            sys.setprofile(None)
        return looked / nodes

    assert looks(200, light=True) < 10 < 150 < looks(200, light=False)


def test_the_installed_langgraph_is_as_expected():
    assert supersteps.supports_comparison
    assert supersteps.supports_direct_input
    assert supersteps.supports_single_attempts
    assert supersteps.supports_step_channels
    assert supersteps.supports_unsaved_steps
    assert supersteps.supports_value_reuse
    assert {name: getattr(supersteps, name) for name in ("_PULL", "_RUNTIME", "_SEND")} == {
        "_PULL": _constants.PULL,
        "_RUNTIME": _constants.CONFIG_KEY_RUNTIME,
        "_SEND": _constants.CONFIG_KEY_SEND,
    }


def test_langgraphs_own_methods_are_untouched():
    own: list[FunctionType] = [
        _loop.PregelLoop.after_tick,
        _runner.PregelRunner.tick,
        _runner.PregelRunner.atick,
        cast("Any", Pregel).stream,
    ]
    assert [method.__globals__ is vars(sys.modules[method.__module__]) for method in own] == [True] * 4
