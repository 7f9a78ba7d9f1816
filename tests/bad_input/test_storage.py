"""Storage that cannot be used."""

from pathlib import Path

import pytest
from modes import Mode
from runtime.parts import agent, crew, task

from crewgraph import Crew, ScriptedLLM
from crewgraph.errors import StorageError
from crewgraph.storage.checkpoints import SqliteCheckpointer


def solo(llm: ScriptedLLM) -> Crew:
    return crew(task("a", agent(llm)))


def test_a_folder_that_cannot_be_made_is_told_with_the_ways_out(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CREWGRAPH_STORAGE_DIR", str(tmp_path / "file" / "below"))
    llm = ScriptedLLM(["done"])
    with pytest.raises(
        StorageError, match=r"cannot be created .*Set CREWGRAPH_STORAGE_DIR .* or pass `checkpointer=False`"
    ):
        mode.kickoff(solo(llm))
    assert llm.requests == []
    assert mode.kickoff(solo(llm), checkpointer=False).raw == "done"


@pytest.mark.parametrize(
    "content", [b"this is no database" * 1000, b"SQLite format 3\x00" + b"\xff" * 8000], ids=["text", "torn"]
)
def test_a_file_that_is_no_database_is_told_and_left_alone(mode: Mode, storage: Path, content: bytes):
    path = storage / "checkpoints.db"
    path.write_bytes(content)
    llm = ScriptedLLM([])
    with pytest.raises(StorageError, match=r"checkpoints.db` is (not a database|damaged).*Move the file away"):
        mode.kickoff(solo(llm))
    assert llm.requests == []
    assert path.read_bytes() == content


def test_a_folder_in_the_databases_place_is_told(mode: Mode, storage: Path):
    (storage / "checkpoints.db").mkdir()
    with pytest.raises(StorageError, match="cannot be opened"):
        mode.kickoff(solo(ScriptedLLM([])))


def test_a_full_disk_stops_the_run_and_loses_nothing_that_was_kept(mode: Mode, tmp_path: Path):
    llm = ScriptedLLM(["small", "y" * 400_000, "y" * 400_000, "end"])
    worker = agent(llm)
    made = crew(task("a", worker), task("b", worker), task("c", worker, context=[]))
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        mode.kickoff(solo(ScriptedLLM(["warm"])), checkpointer=saver)
        connection = saver._database._connection  # pyright: ignore[reportPrivateUsage]
        assert connection is not None
        connection.execute("PRAGMA max_page_count=60")
        with pytest.raises(StorageError, match=r"cannot grow: the disk is full .*the run can be resumed"):
            mode.kickoff(made, thread_id="t", checkpointer=saver)
        assert len(llm.requests) == 2
        connection.execute("PRAGMA max_page_count=100000")
        assert mode.resume(made, "t", checkpointer=saver).tasks_output[0].raw == "small"
    assert len(llm.requests) == 4


def test_a_database_that_was_closed_is_told(mode: Mode, tmp_path: Path):
    saver = SqliteCheckpointer(tmp_path / "runs.db")
    saver.close()
    with pytest.raises(StorageError, match="closed"):
        mode.kickoff(solo(ScriptedLLM([])), checkpointer=saver)


@pytest.mark.parametrize("name", ["CREWGRAPH_MAX_BYTES", "CREWGRAPH_RETENTION_DAYS"])
def test_a_setting_that_is_no_number_is_named(mode: Mode, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(name, "much")
    with pytest.raises(ValueError, match=f"the environment variable {name} must be a number, not 'much'"):
        mode.kickoff(solo(ScriptedLLM([])))
