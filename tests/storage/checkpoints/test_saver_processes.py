"""Several processes on one file, forks, and processes that are killed."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import processes
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from storage.checkpoints.saver_graphs import MODES, Mode, chain, on, run

from crewgraph.storage.checkpoints import SqliteCheckpointer

HERE = Path(__file__).parents[2]
START = """
import sys
sys.path.insert(0, sys.argv[1])
from storage.checkpoints.saver_graphs import chain, looped, on, run
from crewgraph.storage.checkpoints import SqliteCheckpointer
"""


def started(code: str, *args: Any, stdout: int | None = None) -> "subprocess.Popen[str]":
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", START + code, str(HERE), *map(str, args)]
    return processes.Popen(command, env=environment, stdout=stdout, text=True)


def sound(file: Path) -> None:
    """The file is no torn one, no row refers to one that is gone, and no value belongs to nobody."""
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


WRITER = """
with SqliteCheckpointer(sys.argv[2]) as saver:
    graph = chain(5, saver)
    for i in range(15):
        mode = "async" if i % 2 else "sync"
        run(graph, {"inputs": f"{sys.argv[3]} {i}"}, on(f"{sys.argv[3]} {i % 3}"), mode)
"""


def test_four_processes_open_and_write_one_new_file_at_once(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    writers = [started(WRITER, file, name) for name in "abcd"]
    assert [writer.wait(250) for writer in writers] == [0, 0, 0, 0]
    sound(file)
    with SqliteCheckpointer(file) as saver:
        graph = chain(5, saver)
        for name in "abcd":
            ends = [graph.get_state(on(f"{name} {i}")).values["inputs"] for i in range(3)]
            assert ends == [f"{name} {i}" for i in (12, 13, 14)]
            assert [len(list(saver.list(on(f"{name} {i}")))) for i in range(3)] == [35, 35, 35]


@pytest.mark.parametrize("how", ["delete_thread('t')", "prune(['t'])"])
def test_a_run_continues_when_another_process_removes_its_past(how: str, tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    remove = f"with SqliteCheckpointer(sys.argv[2]) as saver: saver.{how}"
    with SqliteCheckpointer(file) as saver:
        graph = chain(12, saver, "x" * 2_000)
        steps = graph.stream({"inputs": "i"}, on("t"), durability="sync")
        for _ in range(5):
            next(steps)
        assert started(remove, file).wait(250) == 0
        assert len(list(steps)) == 7
        end = graph.get_state(on("t")).values
        assert len(end) == 13 and len(end["t0"]) > 2_000
        assert all(len(s.values) > 5 for s in graph.get_state_history(on("t")))
    sound(file)


KILLED = """
with SqliteCheckpointer(sys.argv[2]) as saver:
    graph = chain(40, saver, "x" * int(sys.argv[4]))
    for i in range(1000):
        for _ in graph.stream({"inputs": str(i)}, on(f"{sys.argv[3]} {i}"), durability="sync"):
            print(i, flush=True)
"""


def test_a_killed_process_loses_nothing_that_was_saved(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    for kill in range(6):
        size = 100 if kill % 2 else 6_000
        with started(KILLED, file, kill, size, stdout=subprocess.PIPE) as killed:
            assert killed.stdout is not None
            killed.stdout.readline()
            time.sleep(0.05 + 0.07 * kill)
            killed.send_signal(signal.SIGKILL)
            lines = killed.stdout.read().splitlines()[:-1]  # the last may be cut off
        sound(file)
        counts = Counter(int(line) for line in lines)
        with SqliteCheckpointer(file) as saver:
            graph = chain(40, saver)
            for number, steps in counts.items():
                history = list(graph.get_state_history(on(f"{kill} {number}")))
                assert len(history[0].values) >= steps  # a step is told when it ends, its checkpoint follows
                assert [len(state.values) for state in history[:-1]] == list(range(len(history) - 1, 0, -1))
            thread = on(f"{kill} {max(counts, default=0)}")
            resumable = graph.get_state(thread).next
            assert len(run(graph, None if resumable else {"inputs": "x"}, thread)) == 41


@pytest.mark.parametrize("mode", MODES)
def test_a_thread_that_begins_and_is_not_new_is_continued_all_the_same(mode: Mode, tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    with SqliteCheckpointer(file) as saver, SqliteCheckpointer(file) as other:
        saver.begin_thread("t")
        run(chain(2, other), {"inputs": "other"}, on("t"), mode)
        run(chain(2, saver), {"inputs": "own"}, on("t"), mode)
        inputs = [state.values.get("inputs") for state in chain(2, other).get_state_history(on("t"))]
        assert inputs.count("own") >= 3 <= inputs.count("other")
    sound(file)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_opens_its_own_connection(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    code = """
import os, warnings
warnings.simplefilter("ignore")
saver = SqliteCheckpointer(sys.argv[2])
graph = chain(5, saver)
run(graph, {"inputs": "before"}, on("t"))
run(graph, {"inputs": "loop"}, on("loop"), "async")
child = os.fork()
name = "parent" if child else "child"
for i in range(10):
    mode = "async" if i % 2 else "sync"
    assert run(graph, {"inputs": f"{name} {i}"}, on(name), mode)["inputs"] == f"{name} {i}"
    assert graph.get_state(on("t")).values["inputs"] == "before"
if not child:
    saver.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert graph.get_state(on("child")).values["inputs"] == "child 9"
"""
    assert started(code, file).wait(250) == 0
    sound(file)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_forked_as_a_thread_begins_sees_what_its_parent_stores(tmp_path: Path):
    code = """
import asyncio, os, warnings
warnings.simplefilter("ignore")
saver = SqliteCheckpointer(sys.argv[2])
graph = chain(2, saver)
run(graph, {"inputs": "before"}, on("earlier"))
saver.begin_thread("t")
read, write = os.pipe()
child = os.fork()
if not child:
    os.read(read, 1)
    assert saver.get_tuple(on("t")) is not None
    assert asyncio.run(saver.aget_tuple(on("t"))) is not None
    saver.begin_thread("own")
    assert saver.get_tuple(on("own")) is None
    assert saver.get_tuple(on("t")) is not None
    os._exit(0)
run(graph, {"inputs": "stored"}, on("t"))
os.write(write, b".")
assert os.waitpid(child, 0)[1] == 0
"""
    assert started(code, tmp_path / "runs.sqlite").wait(250) == 0


def test_a_checkpoint_follows_one_that_another_saver_has_stored_again(tmp_path: Path):
    def put(saver: SqliteCheckpointer, id: str, parent: str | None, new: list[str], **values: str) -> None:
        place: dict[str, Any] = {"thread_id": "t", "checkpoint_ns": ""} | ({"checkpoint_id": parent} if parent else {})
        versions: dict[str, Any] = {channel: f"version of {channel}" for channel in values}
        checkpoint = empty_checkpoint()
        checkpoint.update(id=id, channel_values={**values}, channel_versions=versions)
        saver.put({"configurable": place}, checkpoint, {}, {channel: versions[channel] for channel in new})

    with SqliteCheckpointer(str(tmp_path / "runs.db")) as saver, SqliteCheckpointer(str(tmp_path / "runs.db")) as other:
        put(saver, "1", None, ["town"], town="Bonn")
        put(other, "1", None, ["town"], town="Kiel")
        put(saver, "2", "1", ["sea"], town="Kiel", sea="Baltic")
        stored = saver.get_tuple(on("t"))
    assert stored is not None
    assert stored.checkpoint["channel_values"] == {"town": "Kiel", "sea": "Baltic"}
