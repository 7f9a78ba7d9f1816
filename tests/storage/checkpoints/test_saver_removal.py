"""Pruning, copying and deleting, with subgraphs and delta channels."""

import asyncio
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from modes import graph_of
from storage.checkpoints.saver_graphs import MODES, Mode, State, chain, describe, on, run

from crewgraph.storage.checkpoints import SqliteCheckpointer


def joined(value: Any, writes: Sequence[Any]) -> list[str]:
    return [*value, *[text for write in writes for text in write]]


class Talk(TypedDict, total=False):
    said: Annotated[list[str], DeltaChannel(joined, snapshot_frequency=7)]
    turns: Annotated[int, operator.add]


def talking(saver: BaseCheckpointSaver[Any]) -> Any:
    def speak(state: State) -> State:
        return {"said": [f"turn {state.get('turns', 0)}"], "turns": 1}

    return graph_of(Talk, {"speak": speak}, checkpointer=saver)


def talked(saver: BaseCheckpointSaver[Any], turns: int, mode: Mode, thread: str = "t") -> Any:
    graph = talking(saver)
    for i in range(turns):
        run(graph, {"said": [f"user {i}"]}, on(thread), mode)
    return graph


@pytest.mark.filterwarnings("ignore::Warning")  # delta channels are a beta of LangGraph
@pytest.mark.parametrize("mode", MODES)
def test_delta_channels_are_rebuilt_as_on_the_in_memory_saver(mode: Mode, tmp_path: Path):
    expected = describe(talked(InMemorySaver(), 20, mode), on("t"))
    with SqliteCheckpointer(tmp_path / "runs") as saver:
        assert describe(talked(saver, 20, mode), on("t")) == expected
    assert len(expected[0][2]["said"]) == 40


@pytest.mark.filterwarnings("ignore::Warning")
def test_pruning_keeps_what_a_delta_channel_is_rebuilt_from(tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs") as saver:
        graph = talked(saver, 20, "sync")
        before = graph.get_state(on("t")).values
        saver.prune(["t"])
        assert graph.get_state(on("t")).values == before
        assert len(list(saver.list(on("t")))) < 20
        saver.copy_thread("t", "copy")
        saver.delete_thread("t")
        assert graph.get_state(on("copy")).values == before
        assert run(graph, {"said": ["more"]}, on("copy"))["said"] == [*before["said"], "more", "turn 20"]


@pytest.mark.parametrize("mode", MODES)
def test_a_copied_thread_lives_its_own_life(mode: Mode, tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs") as saver:
        graph = chain(6, saver, "x" * 3_000)
        run(graph, {"inputs": "first"}, on("t"), mode)
        if mode == "sync":
            saver.copy_thread("t", "u")
            saver.copy_thread("t", "u")
            saver.copy_thread("t", "t")
        else:
            asyncio.run(saver.acopy_thread("t", "u"))
        assert describe(graph, on("u")) == describe(graph, on("t"))
        past = [s for s in graph.get_state_history(on("u")) if s.next == ("n3",)][0]
        run(graph, None, graph.update_state(past.config, {"inputs": "second"}, as_node="n2"), mode)
        saver.delete_thread("t")
        assert graph.get_state(on("u")).values["inputs"] == "second"
        assert graph.get_state(on("t")).values == {}


def test_writes_come_in_the_order_they_are_applied_and_the_first_one_stays():
    with SqliteCheckpointer(":memory:") as saver:
        place = on("t", checkpoint_ns="", checkpoint_id="1")
        checkpoint: Any = {"v": 4, "ts": "", "id": "1", "channel_values": {}, "channel_versions": {}}
        saver.put_writes(place, [("b", "early"), ("a", None)], "task 2", "path 1")  # before its checkpoint
        saver.put(on("t", checkpoint_ns=""), checkpoint | {"versions_seen": {}, "updated_channels": None}, {}, {})
        large = "x" * 5_000
        saver.put_writes(place, [("c", "1"), ("d", large)], "task 1", "path 2")
        saver.put_writes(place, [("c", "late"), ("d", "late"), ("e", "more")], "task 1", "path 2")
        for answer in (["first"], [large], ["last"]):
            saver.put_writes(place, [("__resume__", answer)], "task 1", "path 2")
        saver.put_writes(place, [("__error__", "boom")], "task 0", "path 3")
        saver.put_writes(place, [], "task 9")
        stored = saver.get_tuple(place)
        assert stored is not None
        assert stored.pending_writes == [
            ("task 2", "b", "early"), ("task 2", "a", None), ("task 1", "__resume__", ["last"]),
            ("task 1", "c", "1"), ("task 1", "d", large), ("task 1", "e", "more"),
            ("task 0", "__error__", "boom"),
        ]  # fmt: skip
