"""Faults in what a run stands on: a full disk, a busy or slow database, a restarted server, a dropped connection, a clock.

Each fault comes in the middle of a run: it is told, nothing recorded is lost or made again, and a resume finishes the run.
"""

import asyncio
import itertools
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import processes
import psycopg
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from modes import Mode
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from runtime.parts import agent, crew, served, task
from servers.openai_api import OpenAIServer, call, cut, error
from servers.postgres import missing, running_postgres

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.errors import StorageError
from crewgraph.flow import Flow, listen, start
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool
from kills.matrix import ROOT

STEPS = ("first", "second", "third")


class Work:
    """Something with three effects, one after the other: a crew, or a flow."""

    def __init__(self, kind: str, mode: Mode) -> None:
        self.kind, self.mode, self.effects = kind, mode, list[str]()
        self.during: dict[str, Callable[[], object]] = {}
        """What happens in the middle of an effect, once."""

    def effect(self, name: str) -> str:
        self.effects.append(name)
        happens = self.during.pop(name, None)
        if happens is not None:
            happens()
        return f"done {name}"

    def crew(self) -> Crew:
        @tool
        def step(name: str) -> str:
            """Make a step."""
            return self.effect(name)

        def reply(messages: list[dict[str, Any]]) -> Any:
            name = str(messages[1]).partition("step <")[2].partition(">")[0]
            return f"Final Answer: {name}" if f"done {name}" in str(messages) else ToolUse("step", {"name": name})

        worker = agent(ScriptedLLM(reply), tools=[step])
        tasks = [task(name, worker, description=f"Make step <{name}>.", context=[]) for name in STEPS]
        return crew(*tasks, name="steps")

    def flow(self, saver: Any) -> Flow[Any]:
        work = self

        class Steps(Flow[dict[str, Any]]):
            @start()
            def first(self) -> str:
                return work.effect("first")

            @listen(first)
            def second(self) -> str:
                return work.effect("second")

            @listen(second)
            def third(self) -> str:
                work.effect("third")
                return "third"

        return Steps(checkpointer=saver)

    def run(self, saver: Any) -> Any:
        """Begin the run, or continue it."""
        if self.kind == "crew":
            output = self.mode.run(self.crew().run_or_resume, self.crew().arun_or_resume, "t", checkpointer=saver)
            return output.raw
        flow = self.flow(saver)
        return self.mode.run(flow.run_or_resume, flow.arun_or_resume, "t")

    def has_kept_its_records(self) -> bool:
        """Whether each effect was made, and no effect again once a later one had begun."""
        return tuple(name for name, _ in itertools.groupby(self.effects)) == STEPS


@pytest.fixture(params=["crew", "flow"])
def work(request: pytest.FixtureRequest, mode: Mode) -> Work:
    return Work(request.param, mode)


FULL = """
import json, resource, signal, sys
from pathlib import Path
from kills.test_faults import Work
from modes import Mode
from crewgraph.storage.checkpoints import SqliteCheckpointer

order = json.loads(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
work = Work(order["kind"], Mode(order["mode"]))
def fill():
    size = Path(order["file"] + "-wal").stat().st_size  # what is written next would make it longer
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
if order["full"]:
    work.during["second"] = fill
with SqliteCheckpointer(order["file"]) as saver:
    try:
        print("gave", work.run(saver), flush=True)
    except Exception as error:
        print("raised", type(error).__name__, error, flush=True)
    finally:
        print("made", *work.effects, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limits there")
def test_a_disk_that_gets_full_is_reported_and_the_run_continues_when_there_is_room(work: Work, tmp_path: Path):
    def run_program(full: bool) -> list[str]:
        order = {"kind": work.kind, "mode": work.mode.name, "file": str(tmp_path / "runs.db"), "full": full}
        path = ":".join([str(ROOT), str(ROOT / "tests"), str(ROOT / "compat")])
        command = [sys.executable, "-c", FULL, json.dumps(order)]
        done = processes.run(
            command, capture_output=True, text=True, env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"}, timeout=120
        )
        return done.stdout.splitlines()

    reported = run_program(full=True)
    assert reported[0].startswith("raised ") and "runs.db" in reported[0], reported
    assert reported[-1] == "made first second"
    assert run_program(full=False) == ["gave third", "made second third"]


def test_a_database_that_stays_locked_is_reported_and_the_run_continues_later(work: Work, tmp_path: Path):
    other = sqlite3.connect(tmp_path / "runs.db", isolation_level=None, check_same_thread=False)
    with SqliteCheckpointer(tmp_path / "runs.db", busy_timeout=0.2) as saver:
        work.during["second"] = lambda: other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match=r"runs\.db.*stayed locked by another process"):
            work.run(saver)
        other.execute("ROLLBACK")
        assert work.run(saver) == "third"
    other.close()
    assert (work.effects, work.has_kept_its_records()) == (["first", "second", "second", "third"], True)


def test_a_database_that_is_locked_for_a_while_is_waited_for(work: Work, tmp_path: Path):
    other = sqlite3.connect(tmp_path / "runs.db", isolation_level=None, check_same_thread=False)
    timers: list[threading.Timer] = []

    def lock() -> None:
        other.execute("BEGIN IMMEDIATE")
        timers.append(threading.Timer(0.3, other.execute, ("ROLLBACK",)))
        timers[0].start()

    with SqliteCheckpointer(tmp_path / "runs.db", busy_timeout=20) as saver:
        work.during["second"] = lock
        assert work.run(saver) == "third"
    timers[0].join()
    other.close()
    assert work.effects == list(STEPS)


class Slow(InMemorySaver):
    """A saver that takes its time."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        time.sleep(0.03)
        return super().put(config, checkpoint, metadata, new_versions)

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        await asyncio.sleep(0.03)
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        time.sleep(0.03)
        super().put_writes(config, writes, task_id, task_path)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        await asyncio.sleep(0.03)
        super().put_writes(config, writes, task_id, task_path)


def test_a_slow_database_changes_nothing_but_the_time(work: Work):
    saver = Slow()
    assert work.run(saver) == "third"
    assert work.run(saver) == "third"
    assert work.effects == list(STEPS)


@contextmanager
def pooled(dsn: str, asynchronous: bool) -> Generator[Any]:
    """A saver with a pool of connections, which replaces those that broke; its own event loop where it needs one."""
    options: Any = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    if not asynchronous:
        with ConnectionPool(dsn, kwargs=options, min_size=1, check=ConnectionPool.check_connection) as pool:
            yield PostgresSaver(pool)  # pyright: ignore[reportArgumentType]
        return
    yield dsn


def run_on_postgres(work: Work, saver: Any) -> Any:
    if not isinstance(saver, str):
        return work.run(saver)

    async def within() -> Any:
        options: Any = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        async with AsyncConnectionPool(
            saver, kwargs=options, min_size=1, open=False, check=AsyncConnectionPool.check_connection
        ) as pool:
            keeper = AsyncPostgresSaver(pool)  # pyright: ignore[reportArgumentType]
            if work.kind == "crew":
                return (await work.crew().arun_or_resume("t", checkpointer=keeper)).raw
            return await work.flow(keeper).arun_or_resume("t")

    return asyncio.run(within())


def test_a_server_that_restarts_in_the_middle_costs_no_record(work: Work):
    if reason := missing():
        pytest.skip(reason)
    with ExitStack() as stack:
        server = stack.enter_context(running_postgres())
        with PostgresSaver.from_conn_string(server.dsn) as first:
            first.setup()

        saver = stack.enter_context(pooled(server.dsn, work.mode.asynchronous))
        work.during["second"] = server.restart
        try:
            gave = run_on_postgres(work, saver)
        except (StorageError, psycopg.Error):
            gave = run_on_postgres(work, saver)
        assert (gave, work.has_kept_its_records()) == ("third", True)


def test_a_stream_that_drops_in_the_middle_is_reported_and_asked_for_again(mode: Mode, tmp_path: Path):
    answers = [call("step", {"name": "first"}), cut(), "The tide is high at noon"]
    work = Work("crew", mode)

    @tool
    def step(name: str) -> str:
        """Make a step."""
        return work.effect(name)

    with OpenAIServer(answers) as server, SqliteCheckpointer(tmp_path / "runs.db") as saver:
        worker = agent(served(server.url, stream=True), tools=[step])
        made = crew(task("a", worker), name="tides")
        with pytest.raises(Exception, match=r"(?i)peer|connection|incomplete|closed"):
            mode.kickoff(made, thread_id="t", checkpointer=saver)
        assert mode.resume(made, "t", checkpointer=saver).raw == "The tide is high at noon"
        assert (work.effects, len(server.requests)) == (["first"], 3)


def test_an_endpoint_that_is_down_for_a_while_is_asked_again_and_nothing_else_is(mode: Mode, tmp_path: Path):
    answers = [call("step", {"name": "first"}), error(500), error(503), "done"]
    work = Work("crew", mode)

    @tool
    def step(name: str) -> str:
        """Make a step."""
        return work.effect(name)

    with OpenAIServer(answers) as server, SqliteCheckpointer(tmp_path / "runs.db") as saver:
        made = crew(task("a", agent(served(server.url), tools=[step])), name="tides")
        for _ in range(2):
            with pytest.raises(Exception, match="500|503"):
                mode.run(made.run_or_resume, made.arun_or_resume, "t", checkpointer=saver)
        assert mode.run(made.run_or_resume, made.arun_or_resume, "t", checkpointer=saver).raw == "done"
    assert work.effects == ["first"]


@pytest.mark.parametrize("seconds", [-86_400.0, -0.5, 0.5, 86_400.0])
def test_a_clock_that_jumps_in_the_middle_changes_nothing(
    work: Work, seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    real_ns, real = time.time_ns, time.time

    def jump() -> None:
        monkeypatch.setattr(time, "time_ns", lambda: real_ns() + int(seconds * 1e9))
        monkeypatch.setattr(time, "time", lambda: real() + seconds)

    def back() -> None:
        monkeypatch.setattr(time, "time_ns", real_ns)
        monkeypatch.setattr(time, "time", real)
        raise ConnectionError("down")

    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        work.during |= {"first": jump, "third": back}
        if work.kind == "flow":
            with pytest.raises(ConnectionError):
                work.run(saver)
        assert work.run(saver) == "third"
        assert work.has_kept_its_records()
        assert work.run(saver) == "third"
