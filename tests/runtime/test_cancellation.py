"""Cancelled async runs: the result of a running thread is recorded first, and a resume continues there."""

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from servers.postgres import Postgres
from waiting import wait_until, wait_until_async

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.errors import ThreadBusy
from crewgraph.flow import Flow, listen, start
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import BaseTool, tool

from .parts import agent, crew, task


@pytest.fixture(params=["ours", "in memory"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "in memory":
        yield InMemorySaver()
        return
    with closing(SqliteCheckpointer(tmp_path / "runs.db")) as opened:
        yield opened


class Work:
    """A tool in a thread, which works until it is let go, and notes its beginnings and ends."""

    def __init__(self) -> None:
        self.recorded_lines: list[str] = []
        self.going, self.free = threading.Event(), threading.Event()

    def do(self, name: str = "work") -> str:
        self.recorded_lines.append(f"{name} begins")
        self.going.set()
        assert self.free.wait(60)
        self.recorded_lines.append(f"{name} ends")
        return f"{name} is done"

    @property
    def tool(self) -> BaseTool:
        @tool
        def work() -> str:
            """Work."""
            return self.do()

        return work


def said(messages: Any) -> Any:
    return "Final Answer: end" if any(message["role"] == "assistant" for message in messages) else ToolUse("work", {})


async def cancelled(run: Awaitable[object], work: Work, times: int = 1, after: float = 0) -> None:
    """Cancel a run while the tool works, see that it waits for the tool, and let the tool end."""
    running = asyncio.ensure_future(run)
    await asyncio.to_thread(work.going.wait, 60)
    await asyncio.sleep(after)
    for _ in range(times):
        running.cancel("why")
        await asyncio.sleep(0.05)
        assert not running.done()
    work.free.set()
    with pytest.raises(asyncio.CancelledError) as raised:
        await running
    assert (running.cancelled(), raised.value.args) == (True, ("why",))  # by which servers know their own cancellations


@pytest.mark.parametrize("granularity", ["task", "step"])
@pytest.mark.parametrize("times", [1, 3])
def test_what_a_tool_has_done_is_not_done_again(saver: Any, granularity: Any, times: int):
    work = Work()
    made = crew(task("a", agent(llm := ScriptedLLM(said), tools=[work.tool])), name="desk")

    async def runs() -> str:
        run = made.akickoff(thread_id="t", checkpointer=saver, granularity=granularity)
        await cancelled(run, work, times)
        assert [run.status for run in made.runs(checkpointer=saver)] == ["abandoned"]
        assert len(llm.requests) == 1
        return (await made.aresume("t", checkpointer=saver)).raw

    assert asyncio.run(runs()) == "end"
    assert (work.recorded_lines, len(llm.requests)) == (["work begins", "work ends"], 2)


def test_it_is_recorded_on_postgres_too(postgres: Postgres):
    work = Work()
    made = crew(task("a", agent(ScriptedLLM(said), tools=[work.tool])), name="desk")

    async def runs() -> str:
        async with AsyncPostgresSaver.from_conn_string(postgres.dsn) as saver:
            await cancelled(made.akickoff(thread_id="cancelled", checkpointer=saver), work)
            return (await made.aresume("cancelled", checkpointer=saver)).raw

    assert asyncio.run(runs()) == "end"
    assert work.recorded_lines == ["work begins", "work ends"]


@pytest.mark.parametrize("times", [1, 3])
def test_it_is_recorded_even_if_the_database_is_busy_just_then(tmp_path: Path, times: int):
    done: list[str] = []

    async def runs(saver: SqliteCheckpointer, other: sqlite3.Connection) -> str:
        @tool
        async def work() -> str:
            """Work."""
            if not done:
                other.execute("BEGIN IMMEDIATE")
            done.append("work")
            return "work is done"

        made = crew(task("a", agent(ScriptedLLM(said), tools=[work])), name="desk")
        running = asyncio.ensure_future(made.akickoff(thread_id="t", checkpointer=saver))
        await wait_until_async(lambda: done)
        await asyncio.sleep(0.05)
        for _ in range(times):
            running.cancel()
            await asyncio.sleep(0.05)
            assert not running.done()
        other.execute("ROLLBACK")
        with pytest.raises(asyncio.CancelledError):
            await running
        return (await made.aresume("t", checkpointer=saver)).raw

    with (
        SqliteCheckpointer(tmp_path / "runs.db") as saver,
        closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as other,
    ):
        assert asyncio.run(runs(saver, other)) == "end"
    assert done == ["work"]


def test_parallel_tasks_are_all_waited_for(saver: Any):
    works = [Work(), Work()]
    tasks = [
        task(f"t{number}", agent(ScriptedLLM(said), tools=[work.tool]), async_execution=True)
        for number, work in enumerate(works)
    ]
    made = crew(*tasks, task("last", agent(ScriptedLLM(["end"]))), name="desk")

    async def runs() -> str:
        running = asyncio.ensure_future(made.akickoff(thread_id="t", checkpointer=saver))
        for work in works:
            await asyncio.to_thread(work.going.wait, 60)
        running.cancel()
        for work in works:
            await asyncio.sleep(0.02)
            assert not running.done()
            work.free.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        return (await made.aresume("t", checkpointer=saver)).raw

    assert asyncio.run(runs()) == "end"
    assert [work.recorded_lines for work in works] == [["work begins", "work ends"]] * 2


def test_until_it_has_ended_its_thread_is_run_by_nobody_else(saver: Any):
    work = Work()
    made = crew(task("a", agent(ScriptedLLM(said), tools=[work.tool])), name="desk")

    async def runs() -> None:
        running = asyncio.ensure_future(made.akickoff(thread_id="t", checkpointer=saver))
        await asyncio.to_thread(work.going.wait, 60)
        running.cancel()
        await asyncio.sleep(0.02)
        with pytest.raises(ThreadBusy):
            await made.aresume("t", checkpointer=saver)
        work.free.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await made.aresume("t", checkpointer=saver)).raw == "end"

    asyncio.run(runs())
    assert work.recorded_lines == ["work begins", "work ends"]


def test_async_tools_and_runs_that_are_not_kept_are_cancelled_at_once(saver: Any):
    recorded_lines: list[str] = []

    @tool("work")
    async def work() -> str:
        """Work."""
        recorded_lines.append("begins")
        try:
            await asyncio.sleep(60)
        finally:
            recorded_lines.append("stops")
        return "never"

    made = crew(task("a", agent(ScriptedLLM(said), tools=[work])), name="desk")
    slow = Work()
    unkept = crew(task("a", agent(ScriptedLLM(said), tools=[slow.tool])), name="desk")

    async def runs(run: Awaitable[object], started: Callable[[], bool]) -> None:
        running = asyncio.ensure_future(run)
        while not started():
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.wait([running], timeout=60)
        assert running.cancelled()

    asyncio.run(runs(made.akickoff(thread_id="t", checkpointer=saver), lambda: bool(recorded_lines)))
    assert recorded_lines == ["begins", "stops"]
    try:
        asyncio.run(runs(unkept.akickoff(checkpointer=False), slow.going.is_set))
    finally:
        slow.free.set()


class Journey(Flow[dict[str, Any]]):
    work: Any = None
    desk: Any = None

    @start()
    def first(self) -> str:
        return self.work.do("first")

    @listen(first)
    def second(self, before: str) -> str:
        return f"{before}, then second"


class Parallel(Flow[dict[str, Any]]):
    work: Any = None
    desk: Any = None
    waited: Any = None

    @start()
    def first(self) -> str:
        return self.work.do("first")

    @start()
    async def idle(self) -> str:
        self.waited.append("idle")
        await asyncio.sleep(0 if len(self.waited) > 1 else 60)
        return "idle"

    @listen(first)
    def second(self, before: str) -> str:
        return f"{before}, then second"


@pytest.mark.parametrize("kind", [Journey, Parallel])
def test_a_method_in_a_thread_ends_and_is_not_called_again(saver: Any, kind: type[Flow[Any]]):
    work, waited = Work(), list[str]()
    flow: Any = kind(checkpointer=saver)
    flow.work, flow.waited = work, waited

    async def runs() -> object:
        await cancelled(flow.kickoff_async(), work, after=0.3)
        assert [run.status for run in flow.runs()] == ["abandoned"]
        return await flow.aresume(flow.flow_id)

    result = asyncio.run(runs())
    assert work.recorded_lines == ["first begins", "first ends"]
    if kind is Journey:
        assert result == "first is done, then second"
    else:
        assert waited == ["idle", "idle"]


class Office(Flow[dict[str, Any]]):
    desk: Any = None
    called: Any = None

    @start()
    def work(self) -> str:
        self.called.append("work")
        return self.desk.kickoff().raw


def test_a_crew_in_a_methods_thread_stops_after_its_tool_and_continues_there(saver: Any):
    work = Work()
    desk = crew(task("a", agent(llm := ScriptedLLM(said), tools=[work.tool])), name="desk")
    flow: Any = Office(checkpointer=saver)
    flow.desk, flow.called = desk, []

    async def runs() -> object:
        await cancelled(flow.kickoff_async(), work)
        assert len(llm.requests) == 1
        return await flow.aresume(flow.flow_id)

    assert asyncio.run(runs()) == "end"
    assert (work.recorded_lines, flow.called, len(llm.requests)) == (["work begins", "work ends"], ["work", "work"], 2)


def test_a_sync_run_in_a_thread_that_nobody_awaits_continues_and_holds_its_thread(saver: Any):
    work = Work()
    made: Crew = crew(task("a", agent(ScriptedLLM(said), tools=[work.tool])), name="desk")

    async def runs() -> None:
        running = asyncio.ensure_future(asyncio.to_thread(made.kickoff, thread_id="t", checkpointer=saver))
        await asyncio.to_thread(work.going.wait, 60)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert [run.status for run in made.runs(checkpointer=saver)] == ["working"]
        with pytest.raises(ThreadBusy):
            made.resume("t", checkpointer=saver)
        work.free.set()

    asyncio.run(runs())
    wait_until(lambda: [run.status for run in made.runs(checkpointer=saver)] == ["done"])
    assert made.resume("t", checkpointer=saver).raw == "end"
    assert work.recorded_lines == ["work begins", "work ends"]
