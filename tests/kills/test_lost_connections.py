"""PostgreSQL ends the connections of a run while a request or a tool is under way: nothing is asked or done twice."""

import asyncio
import random
from typing import Any

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from servers.postgres import Postgres

from crewgraph.errors import StorageError
from crewgraph.storage.checkpoints import StrictSerializer
from kills.connections import OPTIONS, STEPS, end_connections, office, run_lost_connections


class Office:
    """A crew that pays once, during one of whose steps all connections are ended."""

    def __init__(self, dsn: str, moment: str) -> None:
        self.done: list[str] = []

        def step(name: str) -> None:
            self.done.append(name)
            if name == moment:
                end_connections(dsn)

        self.crew = office(step)


@pytest.fixture
def dsn(postgres: "Postgres") -> Any:
    with postgres.database() as dsn:
        with PostgresSaver.from_conn_string(dsn) as saver:
            saver.setup()
        yield dsn


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("moment", STEPS)
def test_a_run_goes_on_with_another_connection_of_the_pool(dsn: str, moment: str, strict: bool):
    with ConnectionPool(dsn, min_size=3, max_size=4, kwargs=OPTIONS) as pool:
        saver = PostgresSaver(pool, serde=StrictSerializer() if strict else None)  # type: ignore[arg-type]
        made = Office(dsn, moment)
        assert made.crew.kickoff(thread_id="t", checkpointer=saver).raw == "done"
        assert made.done == STEPS
        made.done.clear()
        assert made.crew.resume("t", checkpointer=saver).raw == "done"
        graph = Office(dsn, moment).crew.compile(checkpointer=saver)
        assert graph.invoke({"inputs": {}}, {"configurable": {"thread_id": "g"}})["output"]
        assert made.done == []


@pytest.mark.parametrize("moment", STEPS)
def test_an_async_run_goes_on_with_another_connection_of_the_pool(dsn: str, moment: str):
    async def run() -> None:
        async with AsyncConnectionPool(dsn, min_size=3, max_size=4, kwargs=OPTIONS, open=False) as pool:
            saver = AsyncPostgresSaver(pool)  # type: ignore[arg-type]
            made = Office(dsn, moment)
            assert (await made.crew.akickoff(thread_id="t", checkpointer=saver)).raw == "done"
            assert made.done == STEPS

    asyncio.run(run())


def test_a_saver_with_a_single_connection_says_that_it_needs_a_pool(dsn: str):
    crew = Office(dsn, "pay").crew
    with (
        PostgresSaver.from_conn_string(dsn) as saver,
        pytest.raises(StorageError, match="has no other.*Give it a pool"),
    ):
        crew.kickoff(thread_id="t", checkpointer=saver)


def test_an_async_saver_with_a_single_connection_says_that_it_needs_a_pool(dsn: str):
    async def run() -> None:
        async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
            with pytest.raises(StorageError, match="has no other.*Give it a pool"):
                await Office(dsn, "pay").crew.akickoff(thread_id="t", checkpointer=saver)

    asyncio.run(run())


def test_no_step_is_repeated_or_lost_at_whatever_moment_connections_are_ended(dsn: str):
    seed = random.randrange(10**6)
    print("seed", seed)
    outcome = run_lost_connections(dsn, 12, seed)
    assert (outcome.repeated, outcome.lost) == ([], [])
    assert outcome.ended
