"""Storage that cannot be used, and values that a storage cannot hold as they are."""

import asyncio
import gc
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import processes
import pytest
from modes import Mode
from permissions import permissions_hold
from runtime.parts import agent, crew, task
from servers.postgres import Postgres
from typer.testing import CliRunner

from crewgraph import Crew, ScriptedLLM
from crewgraph.cli.app import app
from crewgraph.errors import RunError, StorageError
from crewgraph.flow import Flow, persist, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

UNIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no open file, and knows other permissions")


def solo(llm: ScriptedLLM) -> Crew:
    return crew(task("a", agent(llm)))


def test_a_folder_that_cannot_be_made_is_reported_with_the_ways_out(
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


UNKNOWN_USER = """
import os, sys
from crewgraph.settings import storage_dir
os.getuid = lambda: 1 << 30
print(storage_dir())
"""


@UNIX
def test_a_user_without_a_home_is_told_to_name_a_folder():
    environment = {name: value for name, value in os.environ.items() if "STORAGE_DIR" not in name and name != "HOME"}
    environment.pop("XDG_DATA_HOME", None)
    command = [sys.executable, "-c", UNKNOWN_USER]
    ran = processes.run(command, env=environment, capture_output=True, text=True)
    assert "has no home directory. Set CREWGRAPH_STORAGE_DIR to a folder that can be written, or pass" in ran.stderr
    named = {**environment, "XDG_DATA_HOME": "/data"}
    assert processes.run(command, env=named, capture_output=True, text=True).stdout == "/data/crewgraph\n"


@pytest.mark.parametrize(
    "content", [b"this is no database" * 1000, b"SQLite format 3\x00" + b"\xff" * 8000], ids=["text", "torn"]
)
def test_a_file_that_is_no_database_is_reported_and_left_alone(mode: Mode, storage: Path, content: bytes):
    path = storage / "checkpoints.db"
    path.write_bytes(content)
    llm = ScriptedLLM([])
    with pytest.raises(StorageError, match=r"checkpoints.db` is (not a database|damaged).*Move the file away"):
        mode.kickoff(solo(llm))
    assert llm.requests == []
    assert path.read_bytes() == content


def test_a_full_disk_stops_the_run_and_loses_nothing_that_was_kept(mode: Mode, tmp_path: Path):
    llm = ScriptedLLM(["small", "y" * 400_000, "y" * 400_000, "end"])
    worker = agent(llm)
    made = crew(task("a", worker), task("b", worker), task("c", worker, context=[]))
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        mode.kickoff(solo(ScriptedLLM(["warm"])), checkpointer=saver)
        connection = saver._database._connection  # pyright: ignore[reportPrivateUsage]
        assert connection is not None
        connection.execute("PRAGMA max_page_count=60")
        with pytest.raises(StorageError, match=r"cannot grow: the disk is full .*then runs can be resumed") as failed:
            mode.kickoff(made, thread_id="t", checkpointer=saver)
        assert failed.value.__notes__ == ["`crew.resume('t')` continues the run"]
        assert len(llm.requests) == 2
        connection.execute("PRAGMA max_page_count=100000")
        assert mode.resume(made, "t", checkpointer=saver).tasks_output[0].raw == "small"
    assert len(llm.requests) == 4


def overwrite(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    with path.open("r+b") as file:
        file.seek(4096)  # the first page, which names the tables, stays
        file.write(b"\xff" * (path.stat().st_size - 4096))


def drop_a_table(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE writes")
    connection.close()


@pytest.mark.parametrize("damage", [overwrite, drop_a_table])
def test_nobody_is_advised_to_resume_a_run_whose_database_was_damaged_under_it(
    mode: Mode, tmp_path: Path, damage: Callable[[Path], None]
):
    def answer(messages: list[Any]) -> str:
        if len(llm.requests) == 2:
            damage(tmp_path / "runs.db")
        return "done" * 1000

    llm = ScriptedLLM(answer)
    worker = agent(llm)
    made = crew(*(task(name, worker) for name in ("a", "b", "c", "d")))
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        for attempt in (
            lambda: mode.kickoff(made, thread_id="t", checkpointer=saver),
            lambda: mode.resume(made, "t", checkpointer=saver),
        ):
            with pytest.raises((StorageError, RunError)) as failed:
                attempt()
            assert getattr(failed.value, "__notes__", []) == []
        assert saver.is_lost and len(llm.requests) == 2
    with SqliteCheckpointer(tmp_path / "new.db") as saver:
        assert mode.kickoff(made, thread_id="t", checkpointer=saver).raw.startswith("done") and not saver.is_lost


def test_nobody_is_advised_to_resume_a_run_that_could_not_be_stored_at_all(mode: Mode, tmp_path: Path):
    llm = ScriptedLLM(["one", "two"])
    worker = agent(llm)
    made = crew(task("a", worker), task("b", worker))
    with SqliteCheckpointer(tmp_path / "runs.db", busy_timeout=0.1) as saver:
        other = sqlite3.connect(tmp_path / "runs.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="stayed locked by another process") as failed:
            mode.kickoff(made, thread_id="t", checkpointer=saver)
        assert (getattr(failed.value, "__notes__", []), llm.requests) == ([], [])
        other.execute("ROLLBACK")
        with pytest.raises(RunError, match="there is no run of thread `t`"):
            mode.resume(made, "t", checkpointer=saver)
        other.close()
        assert mode.kickoff(made, thread_id="t", checkpointer=saver).raw == "two"


def test_a_database_that_is_closed_in_the_middle_of_a_run_stops_it(
    mode: Mode, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    def answer(messages: list[Any]) -> str:
        saver.close()
        return "one"

    saver = SqliteCheckpointer(tmp_path / "runs.db")
    made = crew(task("a", agent(ScriptedLLM(answer))), task("b", agent(ScriptedLLM(["two"]), "other")))
    with pytest.raises(StorageError, match="is closed. Open a new one"):
        mode.kickoff(made, thread_id="t", checkpointer=saver)
    gc.collect()  # asyncio reports exceptions that nobody retrieved
    assert "never retrieved" not in caplog.text
    made.tasks[0].agent = made.agents[0] = agent(ScriptedLLM(["one"]))
    with SqliteCheckpointer(tmp_path / "runs.db") as again:
        assert mode.resume(made, "t", checkpointer=again).raw == "two"


@pytest.mark.parametrize("name", ["CREWGRAPH_MAX_BYTES", "CREWGRAPH_RETENTION_DAYS"])
def test_a_setting_that_is_no_number_is_named(mode: Mode, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(name, "much")
    with pytest.raises(ValueError, match=f"the environment variable {name} must be a number, not 'much'"):
        mode.kickoff(solo(ScriptedLLM([])))


def deleted(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


@UNIX
@pytest.mark.parametrize("change", [deleted, replaced])
def test_a_database_that_is_deleted_or_replaced_in_the_middle_of_a_run_stops_it(
    mode: Mode, storage: Path, change: Callable[[Path], None]
):
    path = storage / "checkpoints.db"

    def answer(messages: list[Any]) -> str:
        if len(llm.requests) == 2:
            change(path)
        return "done"

    llm = ScriptedLLM(answer)
    worker = agent(llm)
    made = crew(*(task(name, worker) for name in ("a", "b", "c", "d")))
    with pytest.raises(
        StorageError, match=r"checkpoints.db` was deleted or replaced while it was open.*start a new run"
    ) as failed:
        mode.kickoff(made, thread_id="t")
    assert getattr(failed.value, "__notes__", []) == []
    assert len(llm.requests) == 2
    assert mode.kickoff(made, thread_id="another").raw == "done"  # in the file that is there now, or in a new one
    assert len(mode.run(made.history, made.ahistory, "another")) > 4


@persist
class Counting(Flow[dict[str, Any]]):
    @start()
    def count(self) -> int:
        return 1


@pytest.mark.parametrize(("name", "problem"), [("a\ud800b", "a surrogate"), ("a\0b", "a NUL")])
def test_an_id_that_a_database_cannot_hold_is_reported_before_anything_runs(mode: Mode, name: str, problem: str):
    llm = ScriptedLLM([])
    made, flow = solo(llm), Counting()
    ways: list[Callable[[], Any]] = [
        lambda: mode.kickoff(made, thread_id=name),
        lambda: mode.resume(made, name),
        lambda: mode.run(made.history, made.ahistory, name),
        lambda: made.replay("a", None, name),
        lambda: made.diff(name, name),
        lambda: list(made.stream(thread_id=name)),
        lambda: mode.run(flow.kickoff, flow.kickoff_async, {"id": name}),
        lambda: flow.resume(name),
        lambda: flow.history(name),
        lambda: Counting.from_pending(name),
    ]
    for way in ways:
        with pytest.raises(RunError, match=f"id 'a.*b' holds {problem}.*, at position 1"):
            way()
    assert llm.requests == []


def test_an_id_that_postgres_cannot_hold_is_reported_before_its_thread_is_claimed(postgres: "Postgres"):
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(postgres.dsn) as saver:
        flow = Counting(checkpointer=saver)
        for way in (
            lambda: flow.resume("a\0b"),
            lambda: flow.kickoff({"id": "a\0b"}),
            lambda: flow.run_or_resume("a\0b", {}),
            lambda: flow.compile(checkpointer=saver).invoke({}, {"configurable": {"thread_id": "a\0b"}}),
        ):
            with pytest.raises(RunError, match="holds a NUL, at position 1"):
                way()


class Saying(Flow[dict[str, Any]]):
    @start()
    def say(self) -> Any:
        self.state["said"] = self.state["words"]
        return self.state["words"]


_UNUSUAL: list[Any] = ["a\0b", float("inf"), float("-inf"), ["\0"], {"\0": "\0"}]


async def _said_by_flows(saver: Any, mode: Mode) -> list[Any]:
    """The results of flows that say unusual things: at their ends, as they are stored, and from compiled flows."""
    said: list[Any] = []
    for words in _UNUSUAL:
        flow = Saying(checkpointer=saver)
        graph = flow.compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": str(uuid4())}}
        flow_id = str(uuid4())
        if mode.asynchronous:
            said += [
                await flow.kickoff_async({"id": flow_id, "words": words}),
                await Saying(checkpointer=saver).aresume(flow_id),
            ]
            out = await graph.ainvoke({"words": words}, config)
            stored = (await graph.aget_state(config)).values
        else:
            said += [flow.kickoff({"id": flow_id, "words": words}), Saying(checkpointer=saver).resume(flow_id)]
            out = graph.invoke({"words": words}, config)
            stored = graph.get_state(config).values
        assert out["output"] == stored["output"]
        assert out["state"]["said"] == stored["state"]["said"]
        said.append(out["output"])
    return said


async def _said_by_crews(saver: Any, mode: Mode) -> list[Any]:
    """What crews answer, at their ends and as compiled graphs store it."""
    said: list[Any] = []
    for granularity in ("task", "step"):
        graph = solo(ScriptedLLM(["Final Answer: a\0b"])).compile(checkpointer=saver, granularity=granularity)
        config: Any = {"configurable": {"thread_id": str(uuid4())}}
        if mode.asynchronous:
            said += [(await graph.ainvoke({}, config))["output"], (await graph.aget_state(config)).values["output"]]
        else:
            said += [graph.invoke({}, config)["output"], graph.get_state(config).values["output"]]
    return said


@pytest.mark.filterwarnings("ignore:no run of flow")
def test_results_that_json_of_postgres_cannot_hold_are_stored_there_as_they_are(mode: Mode, postgres: "Postgres"):
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    async def run() -> None:
        if mode.asynchronous:
            async with AsyncPostgresSaver.from_conn_string(postgres.dsn) as saver:
                flows, crews = await _said_by_flows(saver, mode), await _said_by_crews(saver, mode)
        else:
            with PostgresSaver.from_conn_string(postgres.dsn) as saver:
                flows, crews = await _said_by_flows(saver, mode), await _said_by_crews(saver, mode)
        assert flows == [words for words in _UNUSUAL for _ in range(3)]
        assert crews == ["a\0b"] * 4

    asyncio.run(run())


@contextmanager
def only_reading(folder: Path) -> Generator[None]:
    """No file in a folder, nor the folder, can be written."""
    places = [folder, *folder.iterdir()]
    modes = [place.stat().st_mode for place in places]
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        with permissions_hold():
            yield
    finally:
        for place, before in zip(places, modes, strict=True):
            place.chmod(before)


@UNIX
@pytest.mark.parametrize("is_open_elsewhere", [False, True])
def test_a_database_that_is_read_only_can_be_read(mode: Mode, is_open_elsewhere: bool, monkeypatch: pytest.MonkeyPatch):
    folder = Path(tempfile.mkdtemp())
    monkeypatch.chdir(folder)
    made = crew(task("a", agent(ScriptedLLM(["said"]))))
    saver = SqliteCheckpointer(folder / "runs.db")
    mode.kickoff(made, thread_id="t", checkpointer=saver)
    if not is_open_elsewhere:
        saver.close()
    try:
        with only_reading(folder):
            with SqliteCheckpointer(folder / "runs.db") as reading:
                steps = mode.run(
                    lambda: made.history("t", checkpointer=reading), lambda: made.ahistory("t", checkpointer=reading)
                )
                assert [step.thread_id for step in steps] == ["t"] * len(steps) != []
                with pytest.raises(StorageError, match="is read-only" if is_open_elsewhere else "cannot be written"):
                    mode.kickoff(solo(ScriptedLLM([])), checkpointer=reading)
            for command in (["runs"], ["log-tasks-outputs", "t"], ["diff", "t", "t"]):
                ran = CliRunner().invoke(app, [*command, "--database", str(folder / "runs.db")])
                assert ran.exit_code == 0, ran.output
                assert "t" in ran.output
            assert sorted(place.name for place in folder.iterdir())[0] == "runs.db"
    finally:
        saver.close()
        shutil.rmtree(folder)
