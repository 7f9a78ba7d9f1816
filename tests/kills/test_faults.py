"""Faults in what a run stands on: a busy database, a restarted server, a dropped connection, a clock.

Each fault comes in the middle of a run: it is told, nothing recorded is lost or made again, and a resume finishes the run.
"""

import asyncio
import itertools
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from modes import Mode
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from runtime.parts import agent, crew, served, task
from servers.openai_api import OpenAIServer, call, cut
from servers.postgres import missing, running_postgres

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.errors import StorageError
from crewgraph.flow import Flow, listen, start
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

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


@pytest.mark.parametrize("seconds", [-86_400.0, 86_400.0])
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
