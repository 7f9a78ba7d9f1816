"""Task outputs in an SQLite file: a custom file, and the outputs of the latest run."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from crewgraph_compat.stand_ins.storage.outputs import DatabaseOperationError, KickoffTaskOutputsSQLiteStorage

from crewgraph import Agent, Crew, ScriptedLLM, Task

NAMES = ["task_id", "task_key", "expected_output", "output", "task_index", "inputs", "was_replayed", "timestamp"]


def work(answer: str = "high") -> Task:
    clerk = Agent(role="Clerk", goal="Know", backstory="Careful.", llm=ScriptedLLM([answer]))
    return Task(description="The tide?", expected_output="A word", agent=clerk)


def ran(answer: str) -> Task:
    """A task that a crew has done."""
    task = work(answer)
    assert task.agent is not None
    Crew(agents=[task.agent], tasks=[task]).kickoff(inputs={"port": "Ostend"})
    return task


def raws(storage: KickoffTaskOutputsSQLiteStorage) -> list[Any]:
    return [one["output"]["raw"] for one in storage.load()]


def test_a_file_holds_what_is_added_and_changed_until_it_is_removed(tmp_path: Path):
    path = str(tmp_path / "outputs.db")
    storage, first, second = KickoffTaskOutputsSQLiteStorage(path), work(), work()
    assert storage.db_path == path and storage.load() == []
    storage.add(second, {"raw": "b"}, 1, True, {"port": "Ostend"})
    storage.add(first, {"raw": "a", "at": first.id}, 0)
    one, two = KickoffTaskOutputsSQLiteStorage(path).load()
    assert list(one) == NAMES
    assert (one["task_key"], two["task_key"]) == (first.key, second.key)
    assert (one["output"], one["inputs"], one["was_replayed"]) == ({"raw": "a", "at": str(first.id)}, {}, False)
    assert (two["task_id"], two["inputs"], two["was_replayed"]) == (str(second.id), {"port": "Ostend"}, True)
    storage.add(first, {"raw": "again"}, 5)
    assert raws(storage) == ["b", "again"]
    storage.update(1, output={"raw": "B"}, was_replayed=False)
    assert (raws(storage), storage.load()[0]["was_replayed"]) == (["B", "again"], False)
    storage.delete_all()
    assert KickoffTaskOutputsSQLiteStorage(path).load() == []


def test_what_cannot_be_done_is_reported(tmp_path: Path):
    storage = KickoffTaskOutputsSQLiteStorage(str(tmp_path / "outputs.db"))
    with pytest.warns(UserWarning, match="no task output has the number 9; nothing was changed"):
        storage.update(9, output={})
    with pytest.raises(DatabaseOperationError, match="there is no `port`; there is task_id, task_key"):
        storage.update(0, port="Ostend")
    with pytest.raises(DatabaseOperationError, match="there is nothing to change"):
        storage.update(0)
    with pytest.raises(DatabaseOperationError, match="the database cannot be created: unable to open") as raised:
        KickoffTaskOutputsSQLiteStorage(str(tmp_path / "none" / "outputs.db"))
    assert isinstance(raised.value.original_error, sqlite3.Error)


def test_without_a_file_it_begins_with_what_the_latest_run_gave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CREWGRAPH_STORAGE_DIR", str(tmp_path))
    storage = KickoffTaskOutputsSQLiteStorage()
    assert storage.load() == [] and list(tmp_path.iterdir()) == []
    task = ran("high")
    (stored,) = storage.load()
    assert list(stored) == NAMES
    assert (stored["task_id"], stored["inputs"], stored["output"]["raw"]) == (str(task.id), {"port": "Ostend"}, "high")
    assert stored["task_key"] == task.key


def test_a_file_of_an_earlier_version_gets_the_keys_of_tasks(tmp_path: Path):
    path = tmp_path / "outputs.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE task_outputs (task_id TEXT PRIMARY KEY, expected_output TEXT, output JSON, task_index INTEGER, "
            "inputs JSON, was_replayed BOOLEAN, timestamp TEXT DEFAULT (datetime('now')))"
        )
        database.execute(
            "INSERT INTO task_outputs VALUES ('1', 'e', '{\"raw\": \"a\"}', 0, '{}', 0, '2026-01-01 00:00:00')"
        )
    storage, task = KickoffTaskOutputsSQLiteStorage(str(path)), work()
    storage.add(task, {"raw": "b"}, 1)
    assert [row["task_key"] for row in storage.load()] == [None, task.key]


def test_what_is_changed_there_holds_until_a_crew_runs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CREWGRAPH_STORAGE_DIR", str(tmp_path))
    ran("high")
    KickoffTaskOutputsSQLiteStorage().add(work(), {"raw": "added"}, 1)
    KickoffTaskOutputsSQLiteStorage().update(0, output={"raw": "changed"})
    assert raws(KickoffTaskOutputsSQLiteStorage()) == ["changed", "added"]
    assert Path(KickoffTaskOutputsSQLiteStorage().db_path).stat().st_mode & 0o777 == 0o600
    KickoffTaskOutputsSQLiteStorage().delete_all()
    assert KickoffTaskOutputsSQLiteStorage().load() == []
    ran("low")
    assert raws(KickoffTaskOutputsSQLiteStorage()) == ["low"]
