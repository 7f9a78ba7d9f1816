"""A crew that stamps three letters, in a process that may end in any way; each effect leaves a line in a file.

The order says where the run is stored, after how many days other runs are removed from there, what to do with the run, what the
clock shows, and how the process ends itself; signals come from outside.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.errors import ThreadBusy
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

__all__ = ["EFFECTS", "post", "run_order"]

TASKS = ("first", "second", "third")
EFFECTS = [f"{kind} {name}" for name in TASKS for kind in ("asks", "stamps", "tells")]
_SECONDS = 0.004


def post(log: str) -> Crew:
    """The crew; its effects write lines to this file."""

    def effect(name: str) -> None:
        handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, f"{name} {os.getpid()}\n".encode())
        os.close(handle)
        time.sleep(_SECONDS)

    @tool
    def stamp(letter: str) -> str:
        """Stamp a letter."""
        effect(f"stamps {letter}")
        return f"stamped {letter}"

    def reply(messages: list[dict[str, Any]]) -> Any:
        name = str(messages[1]).partition("letter <")[2].partition(">")[0]
        is_stamped = f"stamped {name}" in str(messages)
        effect(f"{'tells' if is_stamped else 'asks'} {name}")
        return f"Final Answer: {name} is stamped" if is_stamped else ToolUse("stamp", {"letter": name})

    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(reply), tools=[stamp], max_retry_limit=0)
    tasks = [
        Task(name=name, description=f"Stamp letter <{name}>.", expected_output="A word", agent=clerk, context=[])
        for name in TASKS
    ]
    return Crew(agents=[clerk], tasks=tasks, name="post")


@contextmanager
def _saver(order: dict[str, Any]) -> Generator[Any]:
    if order["where"].startswith("host="):
        with PostgresSaver.from_conn_string(order["where"]) as saver:
            yield saver
    else:
        with SqliteCheckpointer(order["where"], retention_days=order["retention"]) as saver:
            yield saver


async def _within(crew: Crew, order: dict[str, Any]) -> str:
    seconds = order["seconds"] if order["end"] == "cancellation" else None
    if not order["where"].startswith("host="):
        with _saver(order) as saver:
            output = await asyncio.wait_for(crew.arun_or_resume(order["thread"], checkpointer=saver), seconds)
            return output.raw
    async with AsyncPostgresSaver.from_conn_string(order["where"]) as saver:
        output = await asyncio.wait_for(crew.arun_or_resume(order["thread"], checkpointer=saver), seconds)
        return output.raw


class TimeIsUp(Exception):
    """What a handler of a signal raises, as the time limits of Celery and RQ do."""


def _end_in_time(*_: object) -> None:
    raise TimeIsUp


def run_order(order: dict[str, Any]) -> str:
    """Start or continue the run, and return its result."""
    now, now_ns, ahead = time.time, time.time_ns, order["clock"]
    time.time, time.time_ns = lambda: now() + ahead, lambda: now_ns() + int(ahead * 1e9)
    crew = post(order["log"])
    if order["end"] == "time limit":
        signal.signal(signal.SIGUSR1, _end_in_time)
    try:
        if order["mode"] == "async":
            return asyncio.run(_within(crew, order))
        with _saver(order) as saver:
            if order["end"] != "exit under a daemon thread":
                return crew.run_or_resume(order["thread"], checkpointer=saver).raw
            reported: list[str] = []

            def work() -> None:
                reported.append(crew.run_or_resume(order["thread"], checkpointer=saver).raw)

            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            thread.join(order["seconds"])
            if thread.is_alive():
                sys.stdout.write("left\n")
                sys.stdout.flush()
                raise SystemExit(0)
            return reported[0] if reported else "failed"
    except (TimeoutError, TimeIsUp):
        return "cancelled"
    except ThreadBusy:
        return "busy"


if __name__ == "__main__":
    print(run_order(json.loads(sys.argv[1])))
