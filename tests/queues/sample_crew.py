"""The crew that the workers run: three tasks, each with one tool call, which writes a line to a file.

Of threads whose key begins with "async", the tool is async, and must not be repeated.
A line is `THREAD TASK PID TIME`; the file is `OFFICE_LOG`, and a call takes `OFFICE_SECONDS`, and as long as there is a file
of that name that ends in `.held`.
"""

import asyncio
import os
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool

__all__ = ["TASKS", "Effect", "effects", "office", "poison"]

TASKS = ("first", "second", "third")


@tool
def stamp(key: str, task: str) -> str:
    """Stamp a letter."""
    _log(key, task)
    time.sleep(float(os.environ.get("OFFICE_SECONDS", "0.2")))
    while os.path.exists(f"{os.environ['OFFICE_LOG']}.held"):
        time.sleep(0.005)
    return f"stamped {task}"


@tool(once=True)
async def async_stamp(key: str, task: str) -> str:
    """Stamp a letter."""
    _log(key, task)
    await asyncio.sleep(float(os.environ.get("OFFICE_SECONDS", "0.2")))
    return f"stamped {task}"


def _log(key: str, task: str) -> None:
    with open(os.environ["OFFICE_LOG"], "a") as log:
        log.write(f"{key} {task} {os.getpid()} {time.time():.3f}\n")


def _reply(messages: list[dict[str, Any]]) -> Any:
    # The last match: outputs of earlier tasks precede it.
    key, task = re.findall(r"<(\S+) (\S+)>", str(messages))[-1]
    return (
        f"Final Answer: {task} of {key}"
        if f"stamped {task}" in str(messages)
        else ToolUse("async_stamp" if key.startswith("async") else "stamp", {"key": key, "task": task})
    )


def office() -> Crew:
    """The crew."""
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(_reply), tools=[stamp, async_stamp])
    tasks = [
        Task(name=name, description=f"Stamp <{{key}} {name}>.", expected_output="A word", agent=clerk, context=[])
        for name in TASKS
    ]
    return Crew(agents=[clerk], tasks=tasks, name="office")


@tool
def die() -> str:
    """Kill the process."""
    time.sleep(0.3)
    os._exit(9)


def poison() -> Crew:
    """A crew that kills its worker."""
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(lambda _: ToolUse("die", {})), tools=[die])
    return Crew(
        agents=[clerk], tasks=[Task(name="a", description="d", expected_output="e", agent=clerk)], name="poison"
    )


class Effect(NamedTuple):
    """A call of the tool."""

    key: str
    task: str
    pid: int
    at: float
    """In seconds since the epoch."""


def effects(log: Path) -> list[Effect]:
    """The calls in a file, in order."""
    lines = log.read_text().splitlines() if log.exists() else []
    found = (line.split() for line in lines)
    return [Effect(key, task, int(pid), float(at)) for key, task, pid, at in found]
