"""Retention: old threads are removed when a database is opened, and disk space is freed."""

import os
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import processes
import pytest
from storage.checkpoints.saver_graphs import chain, on, run

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.definitions.crew.pending import RunFilter
from crewgraph.flow import Flow, human_feedback, listen, start
from crewgraph.runtime.runs.index import all_runs
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.storage.claims.files import file_claims

DAY = 86_400


def filled(file: Path, ages: dict[str, float], text: str = "x") -> None:
    """One finished run a thread, each so many days old."""
    with SqliteCheckpointer(file) as saver:
        for thread in ages:
            run(chain(3, saver, text), {"inputs": thread}, on(thread))
    connection = sqlite3.connect(file)
    for thread, days in ages.items():
        touched = int(time.time() - days * DAY)
        connection.execute("UPDATE lineages SET touched = ? WHERE thread = ?", (touched, thread))
    connection.commit()
    connection.close()


def threads(saver: SqliteCheckpointer) -> list[str]:
    places: list[dict[str, Any]] = [checkpoint.config.get("configurable", {}) for checkpoint in saver.list(None)]
    return sorted({place["thread_id"] for place in places})


def rows(file: Path, table: str) -> int:
    connection = sqlite3.connect(file)
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.close()
    return count


def test_nothing_goes_unless_a_bound_is_set(tmp_path: Path):
    filled(tmp_path / "runs", {"old": 4_000, "new": 0})
    for disabled in (None, 0):
        with SqliteCheckpointer(tmp_path / "runs", retention_days=disabled, max_bytes=disabled) as saver:
            assert threads(saver) == ["new", "old"]


def test_threads_not_written_for_the_days_given_go(tmp_path: Path):
    filled(tmp_path / "runs", {"a": 31, "b": 29, "c": 0, "d": 300})
    with SqliteCheckpointer(tmp_path / "runs", retention_days=30) as saver:
        assert threads(saver) == ["b", "c"]
        assert chain(3, saver).get_state(on("b")).values["inputs"] == "b"
    assert rows(tmp_path / "runs", "lineages") == 2
    assert rows(tmp_path / "runs", "payloads") == 10


def test_a_thread_that_is_written_again_is_young_again(tmp_path: Path):
    filled(tmp_path / "runs", {"a": 31, "b": 31})
    with SqliteCheckpointer(tmp_path / "runs") as saver:
        run(chain(3, saver), {"inputs": "again"}, on("a"))
    with SqliteCheckpointer(tmp_path / "runs", retention_days=30) as saver:
        assert threads(saver) == ["a"]


def test_the_oldest_threads_go_until_the_rest_fits_and_the_disk_gets_the_space(tmp_path: Path):
    file = tmp_path / "runs"
    filled(file, {f"t{age}": age for age in range(8)}, "x" * 200_000)
    before = file.stat().st_size
    with SqliteCheckpointer(file, max_bytes=before // 2) as saver:
        assert threads(saver) == ["t0", "t1", "t2", "t3"][: len(threads(saver))]
        assert 2 <= len(threads(saver)) <= 4
    assert file.stat().st_size <= before // 2


def test_a_thread_that_is_being_run_never_goes(tmp_path: Path):
    file = tmp_path / "runs"
    ages: dict[str, float] = {
        "long/inside/1": 50, "long": 50, "old": 40, "slow": 3, "slow/inside/1": 3, "slower": 2, "new": 0,
    }  # fmt: skip
    filled(file, ages, "x" * 50_000)
    keeper = file_claims(str(file))
    code = "import sys, crewgraph.storage.checkpoints as c; c.SqliteCheckpointer(sys.argv[1], retention_days=30, max_bytes=1)"
    with closing(keeper.claim("long")), closing(keeper.claim("slow")):
        processes.run([sys.executable, "-c", code, file], check=True)
    with SqliteCheckpointer(file) as saver:
        assert threads(saver) == ["long", "long/inside/1", "new", "slow", "slow/inside/1"]


def test_bounds_are_applied_once_a_process(tmp_path: Path):
    filled(tmp_path / "runs", {"a": 10, "b": 0})
    with SqliteCheckpointer(tmp_path / "runs", retention_days=20) as saver:
        assert threads(saver) == ["a", "b"]
    with SqliteCheckpointer(tmp_path / "runs", retention_days=5) as saver:
        assert threads(saver) == ["a", "b"]
    code = "import sys, crewgraph.storage.checkpoints as c; c.SqliteCheckpointer(sys.argv[1], retention_days=5)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    processes.run([sys.executable, "-c", code, tmp_path / "runs"], env=environment, check=True)
    with SqliteCheckpointer(tmp_path / "runs") as saver:
        assert threads(saver) == ["b"]


def test_deleting_most_of_a_database_gives_the_space_back_at_once(tmp_path: Path):
    file = tmp_path / "runs"
    filled(file, {str(i): 0 for i in range(6)}, "x" * 100_000)
    before = file.stat().st_size
    with SqliteCheckpointer(file) as saver:
        for i in range(5):
            saver.delete_thread(str(i))
        assert threads(saver) == ["5"]
    assert file.stat().st_size < before / 3


def of_age(file: Path, days: float, newest: str) -> None:
    """All threads but one were written so many days ago."""
    with closing(sqlite3.connect(file)) as connection, connection:
        touched = int(time.time() - days * DAY)
        connection.execute("UPDATE lineages SET touched = ? WHERE thread != ?", (touched, newest))


class Approved(Flow[dict[str, Any]]):
    @start()
    @human_feedback("Is it good?", emit=["yes", "no"], llm=ScriptedLLM(["yes"]), default_outcome="no")
    def draft(self) -> str:
        return "a draft"


class Nesting(Flow[dict[str, Any]]):
    inner: Any = None

    @start()
    def first(self) -> str:
        return self.inner.kickoff().raw

    @listen(first)
    def second(self) -> str:
        if self.state.get("fails"):
            raise ConnectionError("down")
        return "second"


def crew_of(*answers: Any, asks: bool = False) -> Crew:
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(list(answers)), max_retry_limit=0)
    tasks = [
        Task(name=name, description="d", expected_output="e", agent=clerk, human_input=asks) for name in ("one", "two")
    ]
    return Crew(agents=[clerk], tasks=tasks, name="desk")


def filled_with_runs(file: Path) -> dict[str, str]:
    """Runs of all kinds in a database; the status of each."""
    with SqliteCheckpointer(file) as saver:
        crew_of("a", "b").kickoff(thread_id="crew done", checkpointer=saver)
        with pytest.raises(ConnectionError):
            crew_of("a", ConnectionError("down")).kickoff(thread_id="crew failed", checkpointer=saver)
        graph = crew_of("a", "b", asks=True).compile(checkpointer=saver)
        graph.invoke({"inputs": {}}, on("crew waiting"))
        Nesting.inner = crew_of("a", "b")
        with pytest.warns(UserWarning, match="starting a new one"):
            Nesting(checkpointer=saver).kickoff({"id": "flow done"})
        Nesting.inner = crew_of("a", "b")
        with pytest.raises(ConnectionError), pytest.warns(UserWarning, match="starting a new one"):
            Nesting(checkpointer=saver).kickoff({"id": "flow failed", "fails": True})
        Approved(checkpointer=saver).compile(checkpointer=saver).invoke({"id": "flow waiting"}, on("flow waiting"))
        chain(3, saver).invoke({"inputs": "x"}, on("graph done"))
        chain(3, saver).invoke({"inputs": "x"}, on("graph stopped"), interrupt_before=["n1"])
        crew_of("a", "b").kickoff(thread_id="new", checkpointer=saver)
        return {run.thread_id: run.status for run in all_runs(saver, RunFilter())}


STATUSES = {
    "crew done": "done", "crew failed": "failed",
    "flow done": "done", "flow failed": "failed", "new": "done",
}  # fmt: skip


FINISHED = ["crew done", "flow done", "graph done"]
OPEN = ["crew failed", "crew waiting", "flow failed", "flow waiting", "graph stopped"]


def without_nested(saver: SqliteCheckpointer) -> list[str]:
    return [thread for thread in threads(saver) if "/" not in thread]


def test_only_runs_that_have_ended_go_whatever_their_age(tmp_path: Path):
    assert filled_with_runs(tmp_path / "runs") == STATUSES
    of_age(tmp_path / "runs", 400, "new")
    with SqliteCheckpointer(tmp_path / "runs", retention_days=30) as saver:
        assert without_nested(saver) == [*OPEN, "new"]
        assert [thread.partition("/")[0] for thread in threads(saver) if "/" in thread] == ["flow failed"]
        Nesting.inner = crew_of()  # not asked again
        resumed = Nesting(checkpointer=saver)
        with pytest.raises(ConnectionError):
            resumed.resume("flow failed")


def test_a_database_of_open_runs_that_is_too_large_keeps_them_and_warns(tmp_path: Path):
    filled_with_runs(tmp_path / "runs")
    with pytest.warns(UserWarning, match=r"larger than 1 bytes, but all that is left are runs that are open or wait"):
        saver = SqliteCheckpointer(tmp_path / "runs", max_bytes=1)
    with saver:
        assert without_nested(saver) == [*OPEN, "new"]


AHEAD = """
import sys, time
now = time.time
time.time = lambda: now() + 40 * 86_400
from crewgraph.runtime.runs.storage import default_checkpointer
print(len(list(default_checkpointer().threads())))
"""


def test_a_clock_that_is_ahead_of_the_database_removes_nothing(storage: Path):
    file = storage / "checkpoints.db"
    filled_with_runs(file)
    with SqliteCheckpointer(file) as saver:
        before = threads(saver)
    for _ in range(2):
        done = processes.run([sys.executable, "-c", AHEAD], capture_output=True, text=True, check=True)
        assert int(done.stdout) == len(before)
    with SqliteCheckpointer(file) as saver:
        assert threads(saver) == before
