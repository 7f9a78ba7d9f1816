"""A run on Postgres whose tool waits for a line on stdin: `run_on_postgres.py ADDRESS sync|async|worker`."""

import asyncio
import os
import signal
import sys
from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.contrib.queue import Queue, QueueWorker
from crewgraph.errors import ThreadBusy
from crewgraph.storage.postgres import BoundedConnection
from crewgraph.tools import tool

BoundedConnection.answer_timeout = 2
POOL: dict[str, Any] = {
    "min_size": 1,
    "max_size": 4,
    "timeout": 3,
    "kwargs": {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
}


def say(text: str) -> None:
    print(text, flush=True)


@tool
def wait() -> str:
    """Wait."""
    say("waiting")
    sys.stdin.readline()
    say("waited")
    return "waited"


@tool
def fork() -> str:
    """Fork."""
    if child := os.fork():
        os.waitpid(child, 0)
    return "forked"


@tool
def pay() -> str:
    """Pay."""
    say("paid")
    return "paid"


def reply(messages: Any) -> Any:
    turn = sum(message["role"] == "assistant" for message in messages)
    return [*(ToolUse(name, {}) for name in sys.argv[3:]), "done"][turn]


clerk = Agent(role="r", goal="g", backstory="b", tools=[wait, fork, pay], llm=ScriptedLLM(reply, native_tools=True))
crew = Crew(agents=[clerk], tasks=[Task(name="a", description="d", expected_output="e", agent=clerk)], name="desk")


async def arun(address: str) -> None:
    async with AsyncConnectionPool(address, open=False, **POOL) as pool:
        run = asyncio.ensure_future(crew.akickoff(thread_id="t", checkpointer=AsyncPostgresSaver(pool)))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, run.cancel)
        say((await run).raw)


async def work(address: str) -> None:
    with Queue(address) as queue:
        crew.enqueue(thread_id="t", queue=queue)
        worker = QueueWorker(queue, [crew], grace=1)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        await worker.run()


def main(address: str, kind: str) -> None:
    if kind != "sync":
        asyncio.run(arun(address) if kind == "async" else work(address))
        return
    with ConnectionPool(address, open=True, **POOL) as pool:
        try:
            say(crew.kickoff(thread_id="t", checkpointer=PostgresSaver(pool)).raw)
        except ThreadBusy as error:  # in a fork of the process, which must not close the connections that it shares
            say(type(error).__name__)
            os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:3])
