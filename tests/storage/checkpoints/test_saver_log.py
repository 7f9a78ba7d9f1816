"""The write-ahead log is folded into the file, never by the event loop, and never grows without bound."""

import asyncio
import threading
from pathlib import Path

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from storage.checkpoints.saver_graphs import MODES, Mode, chain, on, run

from crewgraph.storage.checkpoints import SqliteCheckpointer


@pytest.mark.parametrize("mode", MODES)
def test_the_log_is_folded_while_a_program_runs(mode: Mode, tmp_path: Path):
    file, log = tmp_path / "runs.sqlite", tmp_path / "runs.sqlite-wal"
    with SqliteCheckpointer(file) as saver:
        graph = chain(20, saver, "x" * 100_000)
        for i in range(10):
            run(graph, {"inputs": str(i)}, on("t"), mode)
        assert file.stat().st_size > 8_000_000
        assert log.stat().st_size < 30_000_000
        assert graph.get_state(on("t")).values["inputs"] == "9"


def test_no_thread_starts_before_an_event_loop_has_to_wait(tmp_path: Path):
    before = set(threading.enumerate())
    with SqliteCheckpointer(tmp_path / "runs.sqlite") as saver:
        graph = chain(3, saver)
        run(graph, {"inputs": "i"}, on("t"))
        assert not [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("crewgraph")]
        run(graph, {"inputs": "i"}, on("t"), "async")
        assert (
            len([thread for thread in set(threading.enumerate()) - before if thread.name.startswith("crewgraph")]) <= 2
        )


def test_saving_is_not_held_up_by_an_event_loops_busy_executor(tmp_path: Path):
    release = threading.Event()

    async def crowded(saver: SqliteCheckpointer) -> int:
        loop = asyncio.get_running_loop()
        crowd = [loop.run_in_executor(None, release.wait) for _ in range(64)]
        try:
            async with asyncio.timeout(60):
                place = on("t", checkpoint_ns="", checkpoint_id="1")
                await saver.aput_writes(place, [("c", "x" * 1_000_000)], "task")
                checkpoint = empty_checkpoint()
                checkpoint["id"] = "1"
                await saver.aput(on("t", checkpoint_ns=""), checkpoint, {}, {})
                stored = await saver.aget_tuple(place)
                assert stored is not None and stored.pending_writes is not None
                return len([checkpoint async for checkpoint in saver.alist(on("t"))]) + len(stored.pending_writes)
        finally:
            release.set()
            await asyncio.gather(*crowd)

    with SqliteCheckpointer(tmp_path / "runs.sqlite") as saver:
        assert asyncio.run(crowded(saver)) == 2
