"""What a run costs on disk does not grow with the graph."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from storage.checkpoints.saver_graphs import chain, on, run

from crewgraph.storage.checkpoints import SqliteCheckpointer


def ours(nodes: int, file: Path, text: str) -> float:
    with SqliteCheckpointer(file) as saver:
        run(chain(nodes, saver, text), {"inputs": "i"}, on("t"))
    return file.stat().st_size / nodes


@pytest.mark.parametrize("size", [300, 3_000])
def test_bytes_per_task_are_flat(size: int, tmp_path: Path):
    few, many = (ours(n, tmp_path / str(n), "x" * size) for n in (50, 400))
    print(f"\n{size} bytes a task: {few:.0f} a task at 50 tasks, {many:.0f} at 400")
    assert many / few <= 1.3
    assert many < 3.3 * size + 1_200  # the text itself, as a write and in its channel, whole pages, and what names it


def test_a_loop_costs_the_same_every_round(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    sizes: list[int] = []
    with SqliteCheckpointer(file) as saver:
        graph = chain(20, saver)
        for _ in range(4):
            for _ in range(10):
                run(graph, {"inputs": "i"}, on("t"))
            pages, free = (saver_pragma(file, name) for name in ("page_count", "freelist_count"))
            sizes.append(pages - free)
    rounds = [later - sooner for sooner, later in zip(sizes, sizes[1:], strict=False)]
    assert max(rounds) <= 1.1 * min(rounds)


def saver_pragma(file: Path, name: str) -> int:
    connection = sqlite3.connect(file)
    try:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]
    finally:
        connection.close()


def test_a_large_value_is_stored_once_for_the_write_and_its_channel(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    with SqliteCheckpointer(file) as saver:
        run(chain(10, saver, "x" * 100_000), {"inputs": "i"}, on("t"))
    connection = sqlite3.connect(file)
    large = connection.execute("SELECT count(*) FROM payloads WHERE length(data) > 100000").fetchone()
    connection.close()
    assert large == (10,)
    assert file.stat().st_size < 1_300_000


def put_after(saver: SqliteCheckpointer, parent: str, id: str, value: object) -> None:
    checkpoint: Any = {
        "v": 4,
        "ts": id,
        "id": id,
        "channel_values": {"text": value},
        "channel_versions": {"text": id},
        "versions_seen": {},
        "updated_channels": None,
    }
    saver.put(on("t", checkpoint_ns="", checkpoint_id=parent), checkpoint, {}, {"text": id})


def put_writes(saver: SqliteCheckpointer, id: str, value: object, task: str = "task") -> None:
    saver.put_writes(on("t", checkpoint_ns="", checkpoint_id=id), [("text", value)], task)


def payloads(file: Path) -> int:
    connection = sqlite3.connect(file)
    try:
        return connection.execute("SELECT count(*) FROM payloads").fetchone()[0]
    finally:
        connection.close()


def test_a_value_is_stored_once_if_its_write_comes_after_its_checkpoint(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    with SqliteCheckpointer(file) as saver:
        put_after(saver, "0", "1", "first")
        put_after(saver, "1", "2", "second")
        put_writes(saver, "1", "second")
        assert payloads(file) == 2
        put_writes(saver, "1", "second")  # again: the first one stays, and so does the value that it shares
        put_writes(saver, "1", "other")
        assert payloads(file) == 2
        put_writes(saver, "1", "other", "another task")
        assert payloads(file) == 3
        put_after(saver, "1", "2", "third")  # the checkpoint is stored again: the write keeps the value alone
        put_writes(saver, "1", "second", "late task")
        stored = [saver.get_tuple(on("t", checkpoint_id=id)) for id in "12"]
        assert [one and one.checkpoint["channel_values"]["text"] for one in stored] == ["first", "third"]
        assert [one and [value for _, _, value in one.pending_writes or ()] for one in stored] == [
            ["other", "second", "second"],
            [],
        ]


def test_a_value_that_another_process_has_removed_is_not_shared(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    with SqliteCheckpointer(file) as saver, SqliteCheckpointer(file) as other:
        put_after(saver, "0", "1", "first")
        put_after(saver, "1", "2", "second")
        other.delete_thread("t")
        put_writes(other, "3", "second", "of another")  # takes the number of a value that is gone
        put_writes(saver, "1", "second")
        put_after(saver, "0", "1", "first")
        stored = saver.get_tuple(on("t", checkpoint_id="1"))
        assert stored is not None and [value for _, _, value in stored.pending_writes or ()] == ["second"]
        other.delete_thread("t")
    assert payloads(file) == 0
