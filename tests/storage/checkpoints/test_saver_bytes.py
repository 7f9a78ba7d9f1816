"""What a run costs on disk does not grow with the graph."""

import sqlite3
from pathlib import Path

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
