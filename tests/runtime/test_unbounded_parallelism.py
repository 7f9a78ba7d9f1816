"""crewgraph does not limit how many tasks and tools run at the same time."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from modes import Mode
from waiting import LONG

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.tools import tool

from .parts import agent, crew, task

MANY = 50
BESIDE = 3


def saying(messages: Sequence[dict[str, Any]]) -> str:
    """Who is meant, of all those whom one model answers."""
    return str(messages[1]["content"]).partition("do ")[2].split()[0]


def fifty(model: ScriptedLLM, *tools: Any) -> Crew:
    """Fifty asynchronous tasks of one agent, and one that waits for them."""
    worker = agent(model, tools=list(tools))
    beside = [task(f"t{n}", worker, async_execution=True) for n in range(MANY)]
    return crew(*beside, task("last", agent(ScriptedLLM(["all are done"]), role="last")))


@pytest.mark.parametrize("blocking", [True, False])
def test_the_tools_of_fifty_tasks_meet_and_every_task_keeps_its_own_output(mode: Mode, blocking: bool):
    barrier = threading.Barrier(MANY * BESIDE, timeout=LONG)
    meetings: dict[asyncio.AbstractEventLoop, asyncio.Barrier] = {}

    @tool("meet")
    def meet(who: str) -> str:
        """Meet all the others."""
        barrier.wait()
        return f"met as {who}"

    @tool("meet")
    async def ameet(who: str) -> str:
        """Meet all the others."""
        meeting = meetings.setdefault(asyncio.get_running_loop(), asyncio.Barrier(MANY * BESIDE))
        async with asyncio.timeout(LONG):
            await meeting.wait()
        return f"met as {who}"

    def reply(messages: Sequence[dict[str, Any]]) -> Any:
        seen = str(messages[-1]["content"])
        if "Observation: " in seen:
            return " ".join(seen.replace("Observation: met as ", "").split())
        return [ToolUse("meet", {"who": f"{saying(messages)}.{n}"}) for n in range(BESIDE)]

    result = mode.kickoff(fifty(ScriptedLLM(reply), meet if blocking else ameet))
    assert [one.raw for one in result.tasks_output[:-1]] == [f"t{n}.0 t{n}.1 t{n}.2" for n in range(MANY)]
