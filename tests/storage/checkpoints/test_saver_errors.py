"""Errors of the disk: the message names the file, the problem and a remedy, and saved data stays intact."""

import asyncio
import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from permissions import permissions_hold
from storage.checkpoints.saver_graphs import Mode, chain, describe, on, run

from crewgraph.errors import StorageError
from crewgraph.storage.checkpoints import SqliteCheckpointer


def refused(path: Path, *words: str, **options: Any) -> None:
    with pytest.raises(StorageError) as failed:
        SqliteCheckpointer(path, **options)
    for word in (str(path), *words):
        assert word in str(failed.value)


def test_a_file_and_its_folders_are_for_their_owner_alone(tmp_path: Path):
    file = tmp_path / "a" / "b" / "runs.sqlite"
    with SqliteCheckpointer(file) as saver:
        run(chain(2, saver), {"inputs": "i"}, on("t"))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (file.parent, *file.parent.iterdir())}
        assert modes == {"b": 0o700, "runs.sqlite": 0o600, "runs.sqlite-wal": 0o600, "runs.sqlite-shm": 0o600}
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path):
    (tmp_path / "file").write_text("")
    refused(tmp_path / "file" / "runs.sqlite", "cannot be created", "CREWGRAPH_STORAGE_DIR", "checkpointer=False")
    refused(tmp_path, "cannot be opened", "CREWGRAPH_STORAGE_DIR")


def test_a_database_of_another_program_is_left_alone(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE checkpoints (thread_id TEXT)")
    connection.close()
    refused(file, "another program")
    connection = sqlite3.connect(file)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("checkpoints",)]
    connection.close()


def test_a_database_of_another_format_is_left_alone(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    SqliteCheckpointer(file).close()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    refused(file, "has format 99", "reads format 7 alone", "Else move the file away")


def test_a_database_whose_tables_were_changed_is_reported_as_such(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    SqliteCheckpointer(file).close()
    connection = sqlite3.connect(file)
    connection.execute("ALTER TABLE payloads DROP COLUMN kind")
    connection.close()
    with SqliteCheckpointer(file) as saver, pytest.raises(StorageError) as failed:
        run(chain(2, saver), {"inputs": "i"}, on("t"))
    for word in (str(file), "does not have the tables of this version of crewgraph", "kind", "Move the file away"):
        assert word in str(failed.value)


def test_an_unknown_setting_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="OFF, NORMAL, FULL, EXTRA"):
        SqliteCheckpointer(tmp_path / "runs.sqlite", synchronous="NORMAL; DROP TABLE writes")
    with pytest.raises(ValueError, match='"keep_latest" or "delete"'), SqliteCheckpointer(":memory:") as saver:
        saver.prune(["t"], strategy="all")
    with pytest.raises(ValueError, match="thread_id"), SqliteCheckpointer(":memory:") as saver:
        saver.get_tuple({})


def test_a_damaged_file_is_reported(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    with SqliteCheckpointer(file) as saver:
        run(chain(50, saver), {"inputs": "i"}, on("t"))
    damaged = bytearray(file.read_bytes())
    for page in range(1, len(damaged) // 4096):
        damaged[page * 4096 : page * 4096 + 64] = b"\xaa" * 64
    file.write_bytes(damaged)
    with pytest.raises(StorageError, match="is damaged") as failed, SqliteCheckpointer(file) as saver:
        saver.get_tuple(on("t"))
    assert str(file) in str(failed.value) and "Move the file away" in str(failed.value)


def test_a_closed_checkpointer_says_so(tmp_path: Path):
    saver = SqliteCheckpointer(tmp_path / "runs.sqlite")
    saver.close()
    saver.close()
    with pytest.raises(StorageError, match="is closed"):
        saver.get_tuple(on("t"))
    with pytest.raises(StorageError, match="is closed"):
        asyncio.run(saver.aget_tuple(on("t")))


def test_a_file_stays_the_same_when_the_working_folder_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with SqliteCheckpointer("runs.sqlite") as saver:
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path / "other")
        assert run(chain(2, saver), {"inputs": "i"}, on("t"), "async")["inputs"] == "i"
    assert list((tmp_path / "other").iterdir()) == []
    assert (tmp_path / "runs.sqlite").stat().st_size > 10_000


def test_a_lock_is_waited_for_and_then_reported(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    with SqliteCheckpointer(file, busy_timeout=0.2) as saver:
        graph = chain(2, saver)
        before = run(graph, {"inputs": "i"}, on("t"))
        other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        for mode in ("sync", "async"):
            with pytest.raises(StorageError, match="stayed locked by another process"):
                run(graph, {"inputs": "j"}, on("t"), mode)
        assert graph.get_state(on("t")).values == before
        other.execute("ROLLBACK")
        assert run(graph, {"inputs": "k"}, on("t"))["inputs"] == "k"
        other.close()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_lock_that_ends_in_time_is_no_error(mode: Mode, tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    with SqliteCheckpointer(file, busy_timeout=20) as saver:
        graph = chain(2, saver)
        other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.3, other.execute, ("ROLLBACK",))
        timer.start()
        assert run(graph, {"inputs": "k"}, on("t"), mode)["inputs"] == "k"
        timer.join()
        other.close()


def test_an_event_loop_continues_while_a_lock_is_waited_for(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    other = sqlite3.connect(file, isolation_level=None)

    async def ticking(saver: SqliteCheckpointer) -> int:
        running = asyncio.create_task(chain(2, saver).ainvoke({"inputs": "i"}, on("t"), durability="sync"))
        ticks = 0
        while ticks < 20:
            await asyncio.sleep(0.01)
            ticks += 1
            assert not running.done()
        other.execute("ROLLBACK")
        await running
        return ticks

    with SqliteCheckpointer(file) as saver:
        other.execute("BEGIN IMMEDIATE")
        assert asyncio.run(ticking(saver)) == 20
    other.close()


def _limited(saver: SqliteCheckpointer, pragma: str) -> Callable[[], None]:
    """Put a limit on the connection itself, as no user but root meets a mode bit or a full disk on demand."""
    connection = saver._database._connection  # pyright: ignore[reportPrivateUsage]
    assert connection is not None
    before = connection.execute(f"PRAGMA {pragma.split('=')[0]}").fetchone()[0]
    connection.execute(f"PRAGMA {pragma}")
    return lambda: connection.execute(f"PRAGMA {pragma.split('=')[0]} = {before}") and None


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(
    ("pragma", "what", "remedy"),
    [
        ("max_page_count=1", "the disk is full", "Free some space"),
        ("query_only=1", "is read-only", "checkpointer=False"),
    ],
)
def test_a_failed_put_harms_nothing_and_the_run_can_be_resumed(
    pragma: str, what: str, remedy: str, mode: Mode, tmp_path: Path
):
    file = tmp_path / "runs.sqlite"
    with SqliteCheckpointer(file) as saver:
        graph = chain(5, saver, "x" * 5_000)
        run(graph, {"inputs": "i"}, on("t"), mode)
        before = describe(graph, on("t"))
        lift = _limited(saver, pragma)
        with pytest.raises(StorageError) as failed:
            run(graph, {"inputs": "j"}, on("t"), mode)
        assert what in str(failed.value) and remedy in str(failed.value) and str(file) in str(failed.value)
        assert describe(graph, on("t"))[-len(before) :] == before
        lift()
        assert run(graph, {"inputs": "k"}, on("t"), mode)["inputs"] == "k"
        assert run(graph, {"inputs": "new"}, on("u"), mode)["inputs"] == "new"
    with SqliteCheckpointer(file) as saver:
        assert chain(5, saver).get_state(on("t")).values["inputs"] == "k"
        assert {len(list(saver.list(on(thread)))) > 5 for thread in "tu"} == {True}


def test_a_folder_and_a_file_that_may_not_be_written_are_reported(tmp_path: Path):
    folder = tmp_path / "folder"
    folder.mkdir()
    SqliteCheckpointer(folder / "runs.sqlite").close()
    os.chmod(folder / "runs.sqlite", 0o444)
    os.chmod(folder, 0o555)
    try:
        with permissions_hold():
            for path in (folder / "runs.sqlite", folder / "new.sqlite", folder / "sub" / "new.sqlite"):
                with pytest.raises(StorageError, match=f"{path}.*CREWGRAPH_STORAGE_DIR"):
                    saver = SqliteCheckpointer(path)
                    saver.put_writes({"configurable": {"thread_id": "t", "checkpoint_id": "1"}}, [("c", 1)], "task")
    finally:
        os.chmod(folder, 0o755)
