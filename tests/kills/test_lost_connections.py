"""PostgreSQL ends the connections of a run while a request or a tool is under way: nothing is asked or done twice."""

import asyncio
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.errors import StorageError
from crewgraph.storage.checkpoints import StrictSerializer
from crewgraph.tools import tool

if TYPE_CHECKING:
    from servers.postgres import Postgres

OPTIONS: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}


def end_all(dsn: str) -> None:
    """End all connections to the database but this one."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


class Office:
    """A crew that pays once, during whose requests or tool all connections are ended."""

    def __init__(self, dsn: str, moment: str) -> None:
        self.done: list[str] = []

        def at(place: str) -> None:
            self.done.append(place)
            if place == moment:
                end_all(dsn)

        @tool(once=True)
        def pay(bill: str) -> str:
            """Pay a bill."""
            at("pay")
            return "paid"

        def answer(messages: Any) -> Any:
            asked = "two" if "Second" in str(messages) else "one"
            turn = sum(message["role"] == "assistant" for message in messages)
            at(f"model {asked} {turn}")
            return "Final Answer: done" if asked == "two" or turn else ToolUse("pay", {"bill": "7"})

        clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(answer), tools=[pay], max_retry_limit=0)
        tasks = [Task(name=name, description=name, expected_output="e", agent=clerk) for name in ("First", "Second")]
        self.crew = Crew(agents=[clerk], tasks=tasks, name="office")


MOMENTS = ["model one 0", "pay", "model one 1", "model two 0"]


@pytest.fixture
def dsn(postgres: "Postgres") -> Any:
    with postgres.database() as dsn:
        with PostgresSaver.from_conn_string(dsn) as saver:
            saver.setup()
        yield dsn


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_goes_on_with_another_connection_of_the_pool(dsn: str, moment: str, strict: bool):
    with ConnectionPool(dsn, min_size=3, max_size=4, kwargs=OPTIONS) as pool:
        saver = PostgresSaver(pool, serde=StrictSerializer() if strict else None)  # type: ignore[arg-type]
        office = Office(dsn, moment)
        assert office.crew.kickoff(thread_id="t", checkpointer=saver).raw == "done"
        assert office.done == MOMENTS
        office.done.clear()
        assert office.crew.resume("t", checkpointer=saver).raw == "done"
        graph = Office(dsn, moment).crew.compile(checkpointer=saver)
        assert graph.invoke({"inputs": {}}, {"configurable": {"thread_id": "g"}})["output"]
        assert office.done == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_async_run_goes_on_with_another_connection_of_the_pool(dsn: str, moment: str):
    async def run() -> None:
        async with AsyncConnectionPool(dsn, min_size=3, max_size=4, kwargs=OPTIONS, open=False) as pool:
            saver = AsyncPostgresSaver(pool)  # type: ignore[arg-type]
            office = Office(dsn, moment)
            assert (await office.crew.akickoff(thread_id="t", checkpointer=saver)).raw == "done"
            assert office.done == MOMENTS

    asyncio.run(run())


def test_a_saver_with_a_single_connection_says_that_it_needs_a_pool(dsn: str):
    office = Office(dsn, "pay")
    with (
        PostgresSaver.from_conn_string(dsn) as saver,
        pytest.raises(StorageError, match="has no other.*Give it a pool"),
    ):
        office.crew.kickoff(thread_id="t", checkpointer=saver)


def test_an_async_saver_with_a_single_connection_says_that_it_needs_a_pool(dsn: str):
    async def run() -> None:
        async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
            with pytest.raises(StorageError, match="has no other.*Give it a pool"):
                await Office(dsn, "pay").crew.akickoff(thread_id="t", checkpointer=saver)

    asyncio.run(run())
