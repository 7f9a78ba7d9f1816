"""PostgreSQL ends the connections of runs at random moments, also during a request to a model and a tool that works once."""

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from typing import Any
from uuid import uuid4

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool

__all__ = ["OPTIONS", "STEPS", "LostConnections", "end_connections", "office", "run_lost_connections"]

OPTIONS: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
STEPS = ["model one 0", "pay", "model one 1", "model two 0"]
_AT_ONCE = 4
_SECONDS = 0.02  # that a step takes
_CONNECTIONS = 3  # of a pool
_MOST = 3  # times that the connections of a run are ended
_LONGEST = 0.2  # seconds until then; a run takes about as long


def end_connections(dsn: str, name: str | None = None) -> int:
    """End all connections to the database but this one, or only those of this name; return how many there were."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend' "
            "AND application_name = coalesce(%s, application_name)",
            [name],
        )
        pids = [pid for (pid,) in rows]
        # At once: pg_terminate_backend takes its time, in which a run of this process may find one that is ended next.
        interval = sys.getswitchinterval()
        sys.setswitchinterval(10)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        sys.setswitchinterval(interval)
        while connection.execute("SELECT 1 FROM pg_stat_activity WHERE pid = ANY(%s)", [pids]).fetchone():
            time.sleep(0.001)
        return len(pids)


def office(does: Callable[[str], object]) -> Crew:
    """A crew that pays once; it tells each of its steps when it takes it."""

    @tool(once=True)
    def pay(bill: str) -> str:
        """Pay a bill."""
        does("pay")
        return "paid"

    def answer(messages: Any) -> Any:
        asked = "two" if "Second" in str(messages) else "one"
        turn = sum(message["role"] == "assistant" for message in messages)
        does(f"model {asked} {turn}")
        return "Final Answer: done" if asked == "two" or turn else ToolUse("pay", {"bill": "7"})

    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(answer), tools=[pay], max_retry_limit=0)
    tasks = [Task(name=name, description=name, expected_output="e", agent=clerk) for name in ("First", "Second")]
    return Crew(agents=[clerk], tasks=tasks, name="office")


@dataclass
class LostConnections:
    """The results of some runs."""

    runs: int = 0
    ended: int = 0
    """Connections that were ended."""

    repeated: list[str] = field(default_factory=list[str])
    """Runs that took a step twice."""

    lost: list[str] = field(default_factory=list[str])
    """Runs that did not end with their result."""


class _Run:
    def __init__(self, dsn: str, program: str, seed: int) -> None:
        self.chance, self.thread_id, self.seed = random.Random(seed), uuid4().hex, seed
        # The name tells the connections of runs that go on at the same time.
        self.plain, self.program, self.dsn = dsn, program, make_conninfo(dsn, application_name=program)
        self.done, self.outcome, self.has_ended = list[str](), LostConnections(runs=1), False
        self.options: dict[str, Any] = {"min_size": _CONNECTIONS, "max_size": _CONNECTIONS, "kwargs": OPTIONS}
        self.pool: Any = None
        self.crew = office(self._step)

    def _step(self, name: str) -> None:
        self.done.append(name)
        time.sleep(_SECONDS)

    def run(self) -> LostConnections:
        times, work = self.chance.randint(1, _MOST), self.chance.choice([self._run, lambda: asyncio.run(self._arun())])
        ending = Thread(target=self._end, args=[times])
        ending.start()
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - told in the table
            result = repr(error)
        self.has_ended = True
        ending.join()
        if result != "done":
            self.outcome.lost.append(f"seed {self.seed}: {result} {self.done}")
        if len(self.done) > len(set(self.done)):
            self.outcome.repeated.append(f"seed {self.seed}: {result} {self.done}")
        return self.outcome

    def _end(self, times: int) -> None:
        """End connections; after the first time each time in a later step, when what was being stored is stored again.

        The pool is full then: one that it is about to add would be ended unnoticed.
        """
        longest = _LONGEST
        for _ in range(times):
            while not self.has_ended and (
                self.pool is None or self.pool.get_stats().get("pool_available", 0) < _CONNECTIONS - 1
            ):
                time.sleep(0.001)
            time.sleep(self.chance.uniform(0.0, longest))
            self.outcome.ended += end_connections(self.plain, self.program)
            reached, longest = len(self.done), 2 * _SECONDS
            while len(self.done) == reached and not self.has_ended:
                time.sleep(0.001)

    def _run(self) -> str:
        with ConnectionPool(self.dsn, **self.options) as self.pool:
            saver = PostgresSaver(self.pool)
            return self.crew.run_or_resume(self.thread_id, checkpointer=saver).raw

    async def _arun(self) -> str:
        async with AsyncConnectionPool(self.dsn, **self.options, open=False) as self.pool:
            saver = AsyncPostgresSaver(self.pool)
            return (await self.crew.arun_or_resume(self.thread_id, checkpointer=saver)).raw


def run_lost_connections(dsn: str, number: int, seed: int) -> LostConnections:
    """Run crews on a database that ends their connections.

    Args:
        dsn: the address of a database with LangGraph's tables.
        number: how many runs.
        seed: seeds all that is drawn.
    """
    outcome, programs = LostConnections(), SimpleQueue[str]()
    for program in range(_AT_ONCE):
        programs.put(f"program {program}")

    def run_once(seed: int) -> LostConnections:
        program = programs.get()
        try:
            return _Run(dsn, program, seed).run()
        finally:
            programs.put(program)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for one in pool.map(run_once, range(seed, seed + number)):
            outcome.runs += one.runs
            outcome.ended += one.ended
            outcome.repeated += one.repeated
            outcome.lost += one.lost
    return outcome
