"""Databases on disks that are full or read-only, and whose files are deleted while they are open."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import processes
import pytest
from disks import fill, small_disk
from langgraph.checkpoint.postgres import PostgresSaver
from modes import Mode
from runtime.parts import agent, crew, task
from servers.postgres import Postgres
from typer.testing import CliRunner

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.cli.app import app
from crewgraph.errors import StorageError
from crewgraph.memory.storage import LTMSQLiteStorage
from crewgraph.runtime.flow.persistence import SQLiteFlowPersistence
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.storage.store import FaissStore
from crewgraph.tools import tool

FILLED = """
import os, sys
from crewgraph.storage.store import FaissStore
store = FaissStore(sys.argv[1])
for number in range(20):
    store.put(("teas",), str(number), {"text": f"tea {number}"})
if sys.argv[2] == "closed":
    store.close()
os._exit(0)
"""


@pytest.mark.parametrize("left", ["closed", "killed"])
def test_a_store_on_a_full_disk_is_read_and_is_written_to_once_there_is_room(left: str, tmp_path: Path):
    with small_disk(tmp_path / "disk", 1_500) as disk:
        processes.run([sys.executable, "-c", FILLED, str(disk / "s.db"), left], check=True)
        filler = fill(disk)
        with FaissStore(disk / "s.db") as store:
            found = store.get(("teas",), "3")
            assert found is not None and found.value == {"text": "tea 3"}
            assert len(store.search(("teas",), query="tea", limit=5)) == 5
            with pytest.raises(StorageError, match=r"the disk is full .*Free some space and save again"):
                store.put(("teas",), "new", {"text": "x" * 100_000})
            filler.unlink()
            store.put(("teas",), "new", {"text": "mate"})
            assert store.search(("teas",), query="mate", limit=1)[0].key == "new"


def test_runs_on_a_full_disk_are_listed_and_go_on_once_there_is_room(tmp_path: Path):
    made = crew(task("a", agent(ScriptedLLM(lambda messages: "Final Answer: said"))), name="desk")
    with small_disk(tmp_path / "disk", 1_500) as disk:
        file = disk / "runs.db"
        with SqliteCheckpointer(file) as saver:
            made.kickoff(thread_id="first", checkpointer=saver)
        filler = fill(disk)
        listed = CliRunner().invoke(app, ["runs", "--database", str(file)])
        assert (listed.exit_code, "first" in listed.output) == (0, True), listed.output
        with SqliteCheckpointer(file, retention_days=1, max_bytes=1 << 30) as saver:
            assert [run.thread_id for run in made.runs(checkpointer=saver)] == ["first"]
            with pytest.raises(StorageError, match="the disk is full"):
                made.kickoff(thread_id="second", checkpointer=saver)
            filler.unlink()
            assert made.kickoff(thread_id="second", checkpointer=saver).raw == "said"


def test_a_store_on_a_read_only_disk_is_read_and_says_what_to_do(tmp_path: Path):
    with small_disk(tmp_path / "disk", 1_500) as disk:
        processes.run([sys.executable, "-c", FILLED, str(disk / "s.db"), "closed"], check=True)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with FaissStore(disk / "s.db") as store:
            assert len(store.search(("teas",), query="tea", limit=5)) == 5
            with pytest.raises(
                StorageError, match="is read-only .*Make it writable, or for new data: Set CREWGRAPH_STO"
            ):
                store.put(("teas",), "new", {"text": "mate"})


def deleting(remove: Callable[[], object]) -> tuple[Crew, list[str]]:
    done: list[str] = []

    @tool
    def step(name: str) -> str:
        """Make a step."""
        done.append(name)
        if done == ["first", "second"]:
            remove()
        return f"done {name}"

    answers = [*(ToolUse("step", {"name": name}) for name in ("first", "second", "third")), "Final Answer: all"]
    model = ScriptedLLM(lambda messages: answers[sum("done" in str(message) for message in messages)])
    return crew(task("steps", agent(model, tools=[step])), name="steps"), done


def test_a_log_that_is_deleted_under_a_run_is_noticed_and_costs_one_effect(mode: Mode, tmp_path: Path):
    log = tmp_path / "runs.db-wal"
    made, done = deleting(log.unlink)
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        with pytest.raises(
            StorageError, match=r"log `.*runs.db-wal` .* was deleted .* was written to the database; run"
        ) as failed:
            mode.kickoff(made, thread_id="t", checkpointer=saver)
        assert failed.value.__notes__ == ["`crew.resume('t')` continues the run"]
        assert mode.resume(made, "t", checkpointer=saver).raw == "all"
    assert done == ["first", "second", "second", "third"]
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        assert [run.status for run in made.runs(checkpointer=saver)] == ["done"]


def test_a_log_that_another_process_has_made_anew_is_noticed(tmp_path: Path):
    log = tmp_path / "s.db-wal"
    with FaissStore(tmp_path / "s.db") as store:
        store.put(("teas",), "1", {"text": "tea"})
        log.rename(tmp_path / "moved")
        log.write_bytes(b"")
        with pytest.raises(
            StorageError, match=r"was deleted or replaced .* What was saved last may be lost; run again"
        ):
            store.put(("teas",), "2", {"text": "mate"})


def test_a_postgres_database_that_takes_no_writes_is_named_with_what_to_do(postgres: Postgres):
    made = crew(task("a", agent(ScriptedLLM(lambda messages: "Final Answer: said"))))
    with postgres.database() as dsn:
        with PostgresSaver.from_conn_string(dsn) as saver:
            saver.setup()
            made.kickoff(thread_id="t", checkpointer=saver)
        with PostgresSaver.from_conn_string(f"{dsn} options='-c default_transaction_read_only=on'") as standby:
            with pytest.raises(StorageError, match="read-only transaction") as failed:
                made.kickoff(thread_id="t", checkpointer=standby)
            assert failed.value.__notes__ == [
                "the database takes no writes, as a standby does: connect to its primary, or make it writable"
            ]


def test_a_read_only_file_of_states_or_memories_says_what_to_do(tmp_path: Path):
    with small_disk(tmp_path / "disk", 1_500) as disk:
        states, memories = SQLiteFlowPersistence(str(disk / "states.db")), LTMSQLiteStorage(str(disk / "memories.db"))
        states.save_state("1", "begin", {"id": "1"})
        memories.save("task", {}, "2026-01-01", 1)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(StorageError, match="readonly database. Make the file and its folder writable"):
            states.save_state("1", "begin", {"id": "1"})
        with pytest.raises(StorageError, match="readonly database. Make the file and its folder writable"):
            memories.save("task", {}, "2026-01-01", 1)
