"""Networks to Postgres that freeze, sessions that the server ends, poolers: every wait ends, and nothing is done twice."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import processes
import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg import sql
from psycopg.conninfo import make_conninfo
from servers.freezing_proxy import running_proxy
from servers.pgbouncer import missing_pgbouncer, running_pgbouncer
from servers.postgres import Postgres
from waiting import wait_until

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.contrib.queue import Queue
from crewgraph.contrib.serve.postgres import opened_postgres
from crewgraph.errors import StorageError, ThreadBusy
from crewgraph.storage.claims.postgres import PostgresClaims

PROGRAM = str(Path(__file__).with_name("run_on_postgres.py"))
BOUND = 60.0
"""Seconds within which a process ends: here each statement has 2, each connection 2 to 10, on a busy machine."""


@pytest.fixture
def dsn(postgres: "Postgres") -> Generator[str]:
    with postgres.database() as dsn:
        with PostgresSaver.from_conn_string(dsn) as saver:
            saver.setup()
        yield dsn


@contextmanager
def running(address: str, kind: str, *tools: str) -> Generator["subprocess.Popen[str]"]:
    """A process whose run waits in its first tool."""
    command = [sys.executable, "-W", "ignore", PROGRAM, address, kind, *tools]
    pipe = subprocess.PIPE
    with processes.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "waiting\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("kind", "number"), [("async", signal.SIGINT), ("worker", signal.SIGTERM)])
def test_a_process_behind_a_frozen_network_ends_at_the_first_signal(dsn: str, kind: str, number: signal.Signals):
    with running_proxy(dsn) as proxy, running(make_conninfo(proxy.dsn, connect_timeout=2), kind, "wait") as process:
        proxy.freeze()
        process.stdin.write("\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        time.sleep(0.5)  # the result is being stored
        process.send_signal(number)
        output, _ = process.communicate(timeout=BOUND)
        assert "waited" in output


def test_a_run_behind_a_frozen_network_fails_and_is_resumed_once_the_network_is_back(dsn: str):
    with running_proxy(dsn) as proxy:
        address = make_conninfo(proxy.dsn, connect_timeout=2)
        with running(address, "sync", "wait", "pay") as process:
            proxy.freeze()
            output, _ = process.communicate("\n", timeout=BOUND)
        assert output.split()[0] == "waited" and "paid" not in output
        assert "did not answer within 2 seconds" in output
        proxy.thaw()
        claims = PostgresClaims(dsn)

        def is_free() -> bool:
            try:
                claims.claim("t").close()
            except ThreadBusy:  # the server has not heard yet that the process has ended
                return False
            return True

        wait_until(is_free)


@pytest.mark.parametrize("forgets", ["the server", "the network"])
def test_a_claim_outlives_what_ends_idle_sessions(dsn: str, forgets: str):
    with psycopg.connect(dsn, autocommit=True) as server, running_proxy(dsn) as proxy:
        if forgets == "the server":
            database = sql.Identifier(server.info.dbname)
            server.execute(sql.SQL("ALTER DATABASE {} SET idle_session_timeout = '300ms'").format(database))
        claims, other = PostgresClaims(proxy.dsn), PostgresClaims(dsn)
        claim = claims.claim("t")
        if forgets == "the network":
            proxy.cut()
            wait_until(lambda: claims_of(server) == 1)  # it is locked again while nobody asks
            wait_until(lambda: locks_of(server) == 1)
        else:
            time.sleep(1)
        with pytest.raises(ThreadBusy):
            other.claim("t")
        claim.verify()
        claim.close()
        other.claim("t").close()


def claims_of(server: "psycopg.Connection[Any]") -> int:
    """The number of sessions that hold claims."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'crewgraph claims%'"
    return one(server, f"{query} AND datname = current_database()")


def locks_of(server: "psycopg.Connection[Any]") -> int:
    query = "SELECT count(*) FROM pg_locks JOIN pg_database ON oid = database WHERE locktype = 'advisory'"
    return one(server, f"{query} AND datname = current_database()")


def one(server: "psycopg.Connection[Any]", query: Any) -> int:
    row = server.execute(query).fetchone()
    assert row is not None
    return row[0]


def test_a_forked_child_does_not_go_on_with_a_run_on_postgres(dsn: str):
    with running(dsn, "sync", "wait", "fork", "pay") as process:
        output, _ = process.communicate("\n", timeout=BOUND)
    assert output.split() == ["waited", "ClaimLost", "paid", "done"]


async def _open(address: str) -> None:
    async with opened_postgres(address) as (_, store):
        await store.aput(("desk",), "key", {"value": 1})


@pytest.mark.skipif(missing_pgbouncer() is not None, reason=str(missing_pgbouncer()))
def test_a_pooler_in_transaction_mode_is_refused_by_name_and_one_in_session_mode_works(dsn: str):
    clerk = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(["done"] * 2))
    crew = Crew(agents=[clerk], tasks=[Task(description="d", expected_output="e", agent=clerk)], name="desk")
    with running_pgbouncer(dsn, "transaction") as address:
        with PostgresSaver.from_conn_string(address) as saver, pytest.raises(StorageError, match="such as PgBouncer"):
            crew.kickoff(checkpointer=saver)
        with Queue(address) as queue, pytest.raises(StorageError, match="`pool_mode = session`"):
            crew.enqueue(queue=queue)
        for _ in range(2):  # the second is lent the sessions of the first
            with pytest.raises(StorageError, match="such as PgBouncer"):
                asyncio.run(_open(address))
        with psycopg.connect(dsn) as server:
            assert locks_of(server) == 0
    with running_pgbouncer(dsn, "session") as address:
        asyncio.run(_open(address))
        with PostgresSaver.from_conn_string(address) as saver:
            assert crew.kickoff(checkpointer=saver).raw == "done"
        with Queue(address) as queue:
            crew.enqueue(thread_id="t", queue=queue)
            assert [job.state for job in queue.jobs()] == ["queued"]
