"""Crews like that of `sample_crew`, with every kind of effect; and one whose tools raise what ends a program."""

import asyncio
import os
import re
import time
from typing import Any

from crewgraph import Agent, BaseLLM, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool

from .sample_crew import TASKS, office

__all__ = [
    "EXITS", "LONG", "OFFICES", "async_office", "async_once_office", "leaving", "long_office", "once_office",
    "requesting_office",
]  # fmt: skip

LONG = tuple(f"task-{number}" for number in range(16))
"""The tasks of `long_office`."""


def _begin(key: str, task: str) -> float:
    """Write the line of an effect, and return the seconds that it takes."""
    with open(os.environ["OFFICE_LOG"], "a") as log:
        log.write(f"{key} {task} {os.getpid()} {time.time():.3f}\n")
    return float(os.environ["OFFICE_SECONDS"])


@tool(once=True)
def stamp_once(key: str, task: str) -> str:
    """Stamp a letter."""
    time.sleep(_begin(key, task))
    return f"stamped {task}"


@tool
async def astamp(key: str, task: str) -> str:
    """Stamp a letter."""
    await asyncio.sleep(_begin(key, task))
    return f"stamped {task}"


@tool(once=True)
async def astamp_once(key: str, task: str) -> str:
    """Stamp a letter."""
    await asyncio.sleep(_begin(key, task))
    return f"stamped {task}"


class _Requested(BaseLLM):
    """A model whose async request is the effect."""

    def call(self, messages: Any, *args: Any, **keywords: Any) -> str:
        raise NotImplementedError

    async def acall(self, messages: Any, *args: Any, **keywords: Any) -> str:
        key, task = re.findall(r"<(\S+) (\S+)>", str(messages))[-1]
        await asyncio.sleep(_begin(key, task))
        return f"Final Answer: {task} of {key}"


def _office(name: str, used: Any = None, tasks: tuple[str, ...] = TASKS) -> Crew:
    def reply(messages: Any) -> Any:
        key, task = re.findall(r"<(\S+) (\S+)>", str(messages))[-1]
        is_stamped = f"stamped {task}" in str(messages)
        return f"Final Answer: {task} of {key}" if is_stamped else ToolUse(used.name, {"key": key, "task": task})

    model = _Requested("requested") if used is None else ScriptedLLM(reply)
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=model, tools=[] if used is None else [used])
    made = [
        Task(name=task, description=f"Stamp <{{key}} {task}>.", expected_output="A word", agent=clerk, context=[])
        for task in tasks
    ]
    return Crew(agents=[clerk], tasks=made, name=name)


def once_office() -> Crew:
    """A crew with a sync tool that works once."""
    return _office("once", stamp_once)


def async_office() -> Crew:
    """A crew with an async tool."""
    return _office("async", astamp)


def async_once_office() -> Crew:
    """A crew with an async tool that works once."""
    return _office("async once", astamp_once)


def requesting_office() -> Crew:
    """A crew with an async model."""
    return _office("requesting")


OFFICES = (office, once_office, async_office, async_once_office, requesting_office)


def long_office() -> Crew:
    """A crew with many tasks."""
    return _office("long", astamp, LONG)


EXITS = {"exit": SystemExit(3), "interrupt": KeyboardInterrupt(), "cancelled": asyncio.CancelledError()}
"""What a tool of `leaving` may raise, by the input `how`."""


@tool
def leave(how: str) -> str:
    """Leave."""
    raise EXITS[how]


@tool
async def aleave(how: str) -> str:
    """Leave."""
    await asyncio.sleep(0.1)
    raise EXITS[how]


def leaving() -> Crew:
    """A crew whose tool raises what ends a program; the inputs are `how`, and the name of the tool as `by`."""

    def reply(messages: Any) -> Any:
        by, how = re.findall(r"<(\S+) (\S+)>", str(messages))[-1]
        return ToolUse(by, {"how": how})

    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(reply), tools=[leave, aleave])
    task = Task(name="a", description="Leave: <{by} {how}>.", expected_output="e", agent=clerk)
    return Crew(agents=[clerk], tasks=[task], name="leaving")
