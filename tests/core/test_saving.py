"""Runs save inline: the same rows as LangGraph's own loop, in fewer transactions, and no save that fails goes unnoticed."""

import asyncio
import operator
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.pregel import Pregel
from langgraph.types import Command, Send, interrupt
from modes import Mode

from crewgraph.core.pregel import InlineGraph, saves_inline
from crewgraph.errors import StorageError
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer


class State(TypedDict, total=False):
    seen: Annotated[list[str], operator.add]
    answer: str


def _node(name: str) -> Callable[[State], State]:
    return lambda state: {"seen": [name]}


def _each(given: dict[str, str]) -> State:
    return {"seen": [given["name"]]}


def _sent(state: State) -> list[Send]:
    return [Send("each", {"name": name}) for name in "xyz"]


def _ask(state: State) -> State:
    return {"answer": interrupt("well?")}


def _go(state: State) -> Command[Any]:
    return Command(update={"seen": ["one"]}, goto="two")


def _again(state: State) -> str:
    return END if len(state.get("seen", ())) > 5 else "there"


def _chain(builder: Any) -> None:
    for name in ("a", "b", "c"):
        builder.add_node(name, _node(name))
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("b", "c")


def _fan(builder: Any) -> None:
    for name in ("left", "right", "after"):
        builder.add_node(name, _node(name))
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    builder.add_edge(["left", "right"], "after")


def _sends(builder: Any) -> None:
    builder.add_node("each", _each)
    builder.add_conditional_edges(START, _sent, ["each"])


def _asks(builder: Any) -> None:
    builder.add_node("first", _node("first"))
    builder.add_node("asks", _ask)
    builder.add_edge(START, "first")
    builder.add_edge("first", "asks")


def _goes(builder: Any) -> None:
    builder.add_node("one", _go)
    builder.add_node("two", _node("two"))
    builder.add_edge(START, "one")


def _nested(builder: Any) -> None:
    inner = StateGraph(State)
    _chain(inner)
    builder.add_node("before", _node("before"))
    builder.add_node("inner", inner.compile())
    builder.add_edge(START, "before")
    builder.add_edge("before", "inner")


def _loops(builder: Any) -> None:
    for name in ("there", "back"):
        builder.add_node(name, _node(name))
    builder.add_edge(START, "there")
    builder.add_edge("there", "back")
    builder.add_conditional_edges("back", _again, ["there", END])


def _fails(builder: Any) -> None:
    def fail(state: State) -> State:
        raise ValueError("it does not work")

    builder.add_node("works", _node("works"))
    builder.add_node("fails", fail)
    builder.add_edge(START, "works")
    builder.add_edge("works", "fails")


_GRAPHS: dict[str, Callable[[Any], None]] = {
    "chain": _chain, "parallel nodes": _fan, "sends": _sends, "a question": _asks, "commands": _goes,
    "a loop": _loops, "a nested graph": _nested, "a failing node": _fails,
}  # fmt: skip


def _graph(shape: str, saver: Any, *, inline: bool = True) -> Any:
    builder: Any = StateGraph(State)
    _GRAPHS[shape](builder)
    graph = builder.compile(checkpointer=saver)
    return InlineGraph(**vars(graph)) if inline else graph


class Transactions(SqliteCheckpointer):
    """A checkpointer that knows what it saved together; it fails at one of its saves, by number from 1."""

    def __init__(self, path: Path, failing: int = 0) -> None:
        super().__init__(path)
        self.saved: list[list[str]] = []
        self.threads_used: set[int] = set()
        self.failing = failing

    def put_many(self, saves: Sequence[Any]) -> None:
        self.threads_used.add(threading.get_ident())
        self.saved.append([name for name, _ in saves])
        if len(self.saved) == self.failing:
            raise StorageError("the disk is full")
        super().put_many(saves)


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[Transactions]:
    with Transactions(tmp_path / "runs.sqlite") as saver:
        yield saver


def _config(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}


def _run(mode: Mode, graph: Any, thread: str) -> list[Any]:
    """What a run streams, with the question it stops at answered, or its error as text."""
    try:
        streamed = mode.stream(graph, {"seen": []}, _config(thread), durability="sync")
        if mode.state(graph, _config(thread)).next:
            streamed += mode.stream(graph, Command(resume="so"), _config(thread), durability="sync")
    except ValueError as error:
        return [str(error)]
    return [one if "__interrupt__" not in one else "asked" for one in streamed]


def _place(config: RunnableConfig) -> dict[str, Any]:
    return config.get("configurable") or {}


def _rows(saver: SqliteCheckpointer, thread: str) -> list[Any]:
    """All that is stored of a thread, newest first, without ids and versions, which are random."""
    stored = list(saver.list(_config(thread)))
    numbers = {_place(one.config)["checkpoint_id"]: number for number, one in enumerate(stored)}
    rows: list[Any] = []
    for one in stored:
        parent = one.parent_config
        rows.append(
            (
                _place(one.config)["checkpoint_ns"].partition(":")[0],
                one.metadata.get("source"),
                one.metadata.get("step"),
                None if parent is None else numbers[_place(parent)["checkpoint_id"]],
                {name: value for name, value in one.checkpoint["channel_values"].items()},
                sorted(one.checkpoint["channel_versions"]),
                sorted(
                    (node, channel, one.checkpoint["channel_versions"].get(channel) == version)
                    for node, versions in one.checkpoint["versions_seen"].items()
                    for channel, version in versions.items()
                ),
                sorted(
                    (channel, repr(value).partition("id=")[0])
                    for _, channel, value in one.pending_writes or ()
                    if channel != "__error__"
                ),
                sorted(channel for _, channel, _ in one.pending_writes or ()),
            )
        )
    return rows


@pytest.mark.parametrize("shape", _GRAPHS)
def test_what_is_stored_and_streamed_is_what_langgraph_stores_and_streams(shape: str, mode: Mode, tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "a.sqlite") as ours, SqliteCheckpointer(tmp_path / "b.sqlite") as theirs:
        inline = _run(mode, _graph(shape, ours), "t")
        own = _run(mode, _graph(shape, theirs, inline=False), "t")
        assert sorted(inline, key=str) == sorted(own, key=str)  # parallel nodes end in any order
        assert _rows(ours, "t") == _rows(theirs, "t")


def test_a_single_node_is_saved_in_one_transaction_and_the_input_with_the_first_step(saver: Transactions, mode: Mode):
    _run(mode, _graph("chain", saver), "t")
    assert saver.saved == [["put", "put_writes", "put"], *[["put_writes", "put"]] * 3]


def test_saves_are_made_on_the_thread_of_the_run(saver: Transactions, mode: Mode):
    _run(mode, _graph("chain", saver), "t")
    assert saver.threads_used == {threading.get_ident()}


def test_what_parallel_nodes_wrote_is_saved_before_the_step_ends(saver: Transactions, mode: Mode):
    _run(mode, _graph("parallel nodes", saver), "t")
    assert saver.saved[1:4] == [["put_writes"], ["put_writes"], ["put"]]


def test_a_question_is_saved_when_it_is_asked(saver: Transactions, mode: Mode):
    asked = mode.stream(_graph("a question", saver), {"seen": []}, _config("t"), durability="sync")
    assert "__interrupt__" in asked[-1]
    assert saver.saved[-1] == ["put_writes"]


@pytest.mark.parametrize("shape", ["chain", "parallel nodes", "sends", "commands", "a question"])
def test_a_save_that_fails_ends_the_run_and_the_next_run_finds_what_was_stored(shape: str, mode: Mode, tmp_path: Path):
    with Transactions(tmp_path / "whole.sqlite") as whole:
        _run(mode, _graph(shape, whole), "t")
        result = whole.get_tuple(_config("t"))
    assert result is not None
    for number in range(1, len(whole.saved) + 1):
        path = tmp_path / f"{number}.sqlite"
        with Transactions(path, failing=number) as saver:
            graph = _graph(shape, saver)
            with pytest.raises(StorageError, match="the disk is full"):
                _run(mode, graph, "t")
        with Transactions(path) as saver:  # another process
            graph = _graph(shape, saver)
            stored = saver.get_tuple(_config("t"))
            given: State | None = {"seen": []} if stored is None else None
            mode.stream(graph, given, _config("t"), durability="sync")
            if mode.state(graph, _config("t")).next:
                mode.stream(graph, Command(resume="so"), _config("t"), durability="sync")
            after = saver.get_tuple(_config("t"))
            assert after is not None
            expected: Any = result.checkpoint["channel_values"]
            assert after.checkpoint["channel_values"] == expected, f"save {number}"


def test_a_reader_who_leaves_a_stream_leaves_nothing_unsaved(saver: Transactions, mode: Mode):
    graph = _graph("chain", saver)

    def leave() -> None:
        stream = graph.stream({"seen": []}, _config("t"), durability="sync")
        assert next(stream) == {"a": {"seen": ["a"]}}
        stream.close()

    async def aleave() -> None:
        stream = graph.astream({"seen": []}, _config("t"), durability="sync")
        assert await anext(stream) == {"a": {"seen": ["a"]}}
        await stream.aclose()

    mode.run(leave, aleave)
    stored = saver.get_tuple(_config("t"))
    assert stored is not None and stored.checkpoint["channel_values"]["seen"] == ["a"]


def test_a_busy_database_is_waited_for_off_the_event_loop_and_in_order(saver: Transactions, tmp_path: Path):
    other = sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None, check_same_thread=False)
    turns: list[float] = []

    async def turn() -> None:
        while True:
            turns.append(asyncio.get_running_loop().time())
            await asyncio.sleep(0.01)

    async def run() -> Any:
        graph = _graph("chain", saver)
        turning = asyncio.create_task(turn())
        other.execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(0.3, other.execute, "ROLLBACK")
        try:
            return await graph.ainvoke({"seen": []}, _config("t"), durability="sync")
        finally:
            turning.cancel()

    assert asyncio.run(run()) == {"seen": ["a", "b", "c"]}
    other.close()
    assert len(turns) > 10
    assert [one.metadata.get("step") for one in saver.list(_config("t"))] == [3, 2, 1, 0, -1]


@pytest.mark.parametrize("durability", ["async", "exit"])
def test_other_durabilities_are_langgraphs_own(durability: Any, saver: Transactions, mode: Mode):
    mode.stream(_graph("chain", saver), {"seen": []}, _config("t"), durability=durability)
    assert saver.saved == []
    stored = saver.get_tuple(_config("t"))
    assert stored is not None and stored.checkpoint["channel_values"]["seen"] == ["a", "b", "c"]


def test_a_saver_that_does_not_say_that_it_is_quick_is_used_as_langgraph_uses_it(mode: Mode):
    saver = InMemorySaver()
    assert _run(mode, _graph("chain", saver), "t")[-1] == {"c": {"seen": ["c"]}}
    assert len(list(saver.list(_config("t")))) == 5


def test_wrapped_methods_of_langgraph_are_called(saver: Transactions, mode: Mode, monkeypatch: pytest.MonkeyPatch):
    called: list[str] = []
    stream, astream = vars(Pregel)["stream"], vars(Pregel)["astream"]

    def wrapped(self: Any, *args: Any, **options: Any) -> Any:
        called.append("stream")
        return stream(self, *args, **options)

    def awrapped(self: Any, *args: Any, **options: Any) -> Any:
        called.append("astream")
        return astream(self, *args, **options)

    monkeypatch.setattr(Pregel, "stream", wrapped)
    monkeypatch.setattr(Pregel, "astream", awrapped)
    _run(mode, _graph("chain", saver), "t")
    assert called == ["astream" if mode.asynchronous else "stream"]


def test_the_installed_langgraph_is_as_expected():
    assert saves_inline


def test_a_graph_ends_at_its_first_node(saver: Transactions, mode: Mode):
    builder: Any = StateGraph(State)
    builder.add_node("only", _node("only"))
    builder.add_edge(START, "only")
    builder.add_edge("only", END)
    graph = InlineGraph(**vars(builder.compile(checkpointer=saver, interrupt_before=["only"])))
    mode.stream(graph, {"seen": []}, _config("t"), durability="sync")
    assert mode.state(graph, _config("t")).next == ("only",)
    mode.stream(graph, None, _config("t"), durability="sync")
    assert mode.state(graph, _config("t")).values == {"seen": ["only"]}
