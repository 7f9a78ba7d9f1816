"""Random graphs run with LangGraph's loop and with the one that saves inline: the same streams, errors and rows."""

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, TypedDict, cast

import pytest
from combinations import of
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langgraph.channels.any_value import AnyValue
from langgraph.channels.delta import DeltaChannel
from langgraph.channels.topic import Topic
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.errors import GraphRecursionError, InvalidUpdateError, ParentCommand
from langgraph.func import task
from langgraph.graph import START, StateGraph
from langgraph.pregel import Pregel, _loop
from langgraph.runtime import Runtime
from langgraph.types import Command, RetryPolicy, Send, interrupt
from modes import Mode

from crewgraph.core.pregel import InlineGraph
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer


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


def _compiled(drawn: Drawn, saver: Any, *, inline: bool) -> Any:
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
    return InlineGraph(**vars(graph)) if inline else graph


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
        ours = _compiled(drawn, SqliteCheckpointer(":memory:") if stored else None, inline=True)
        theirs = _compiled(drawn, InMemorySaver() if stored else None, inline=False)
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


def test_a_command_to_the_graph_around_it_leaves_a_node(mode: Mode):
    def leave(state: State) -> Any:
        raise ParentCommand(Command(graph=Command.PARENT, goto="after", update={"seen": ["left"]}))

    inner: Any = StateGraph(State)
    inner.add_node("leave", leave)
    inner.add_edge(START, "leave")
    within = InlineGraph(**vars(inner.compile()))
    outer: Any = StateGraph(State)
    outer.add_node("inner", within)
    outer.add_node("after", _at_last)
    outer.add_edge(START, "inner")
    graph = InlineGraph(**vars(outer.compile()))
    assert mode.invoke(graph, {"seen": []})["seen"] == ["left", "last"]


def test_callbacks_see_the_runs_that_they_see_with_langgraphs_own(mode: Mode):
    class Runs(BaseCallbackHandler):
        def __init__(self) -> None:
            self.names: list[str] = []

        def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
            self.names.append(str(kwargs.get("name")))

    seen: list[list[str]] = []
    for inline in (True, False):
        handler = Runs()
        mode.invoke(_compiled(CHAIN, None, inline=inline), {"seen": []}, {"callbacks": [handler]})
        seen.append(handler.names)
    assert seen[0] == seen[1]


def test_langgraphs_own_methods_are_untouched():
    assert cast("Any", Pregel).stream.__globals__["SyncPregelLoop"] is _loop.SyncPregelLoop
    assert cast("Any", Pregel).astream.__globals__["AsyncPregelLoop"] is _loop.AsyncPregelLoop
