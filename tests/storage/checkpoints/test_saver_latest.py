"""The latest checkpoints, read without the older ones; and removal of older ones during a run."""

import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command
from storage.checkpoints.saver_graphs import chain, looped, on, run

from crewgraph.storage.checkpoints import SqliteCheckpointer


def test_the_latest_of_each_thread_comes_with_what_was_asked_for(tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs") as saver:
        before = time.time()
        for thread in ("a", "b", "c"):
            run(chain(4, saver), {"inputs": thread}, on(thread, owner="x" if thread != "b" else "y"))
        run(chain(4, saver), {"inputs": "again"}, on("a", owner="x"))
        latest = list(saver.latest(channels={"t1", "inputs"}.__contains__))
        assert [one.checkpoint.checkpoint["channel_values"]["inputs"] for one in latest] == ["again", "c", "b"]
        assert [sorted(one.checkpoint.checkpoint["channel_values"]) for one in latest] == [["inputs", "t1"]] * 3
        assert all(one.created and before <= one.created <= time.time() for one in latest)
        assert latest[0].checkpoint.checkpoint["id"] == graph_id(saver, "a")
        assert [name_of(checkpoint) for checkpoint in saver.latest(filter={"owner": "x"})] == ["a", "c"]
        assert [name_of(checkpoint) for checkpoint in saver.latest(threads=lambda name: name != "a")] == ["c", "b"]
        assert list(saver.latest(filter={"owner": "nobody"})) == []


def name_of(found: Any) -> str:
    return found.checkpoint.config["configurable"]["thread_id"]


def graph_id(saver: SqliteCheckpointer, thread: str) -> str:
    stored = saver.get_tuple(on(thread))
    assert stored is not None
    return stored.checkpoint["id"]


def test_subgraphs_and_their_past_are_no_threads_of_their_own(tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs") as saver:
        run(looped(saver), {"log": [], "count": 0}, on("t"))
        (latest,) = saver.latest()
        assert [channel for _, channel, _ in latest.checkpoint.pending_writes or ()] == ["__interrupt__"]
        (bare,) = saver.latest(channels=lambda name: False)
        assert (bare.checkpoint.checkpoint["channel_values"], bare.checkpoint.pending_writes) == ({}, [])


def test_threads_are_found_by_the_beginnings_of_their_names(tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs") as saver:
        for name in ("a", "a/1", "a/2", "a0", "b", "ä/1"):
            run(chain(1, saver), {"inputs": "i"}, on(name))
        assert list(saver.threads("a/")) == ["a/1", "a/2"]
        assert list(saver.threads()) == ["a", "a/1", "a/2", "a0", "b", "ä/1"]


@pytest.mark.parametrize("count", [1, 3, 100])
def test_pruning_keeps_so_many_of_the_latest(tmp_path: Path, count: int):
    with SqliteCheckpointer(tmp_path / "runs") as saver:
        graph = chain(20, saver)
        run(graph, {"inputs": "i"}, on("t"))
        past = list(graph.get_state_history(on("t")))
        saver.prune(["t"], count=count)
        states = list(graph.get_state_history(on("t")))
        assert [(state.values, state.next, state.config) for state in states] == [
            (step.values, step.next, step.config) for step in past[:count]
        ]
        assert states[-1].parent_config is None
        run(graph, None, graph.update_state(states[-1].config, {"inputs": "other"}))
        assert graph.get_state(on("t")).values["inputs"] == "other"
    with pytest.raises(ValueError, match="to keep nothing"), SqliteCheckpointer(tmp_path / "runs") as saver:
        saver.prune(["t"], count=0)


def test_a_question_and_its_subgraph_outlive_pruning_to_any_number(tmp_path: Path):
    for count in (1, 2, 5):
        with SqliteCheckpointer(tmp_path / f"runs{count}") as saver:
            graph = looped(saver)
            run(graph, {"log": [], "count": 0}, on("t"))
            saver.prune(["t"], count=count, shrink=False)
            assert len(list(saver.list(on("t", checkpoint_ns="")))) == count
            assert graph.get_state(on("t")).next == ("ask",)
            assert run(graph, Command(resume="yes"), on("t"))["answer"] == "yes"


def test_what_is_written_behind_the_latest_checkpoint_counts_to_the_minute(tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs") as saver:
        run(chain(2, saver), {"inputs": "i"}, on("t"))
        saver._database.write(age)  # pyright: ignore[reportPrivateUsage]
    with SqliteCheckpointer(tmp_path / "runs") as saver:
        assert next(saver.latest()).touched < time.time() - 3_000
        saver.put_writes(on("t", checkpoint_ns="", checkpoint_id=graph_id(saver, "t")), [("__effect__", 1)], "task")
        assert time.time() - 60 < next(saver.latest()).touched <= time.time()


def age(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE lineages SET touched = touched - 3600")
