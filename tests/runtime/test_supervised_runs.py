"""Runs that a worker or a server executes: a cancellation waits for what is awaited as an effect, and a cut does not."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from waiting import wait_until_async

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.core.cancellation import Supervision, supervised
from crewgraph.flow import Flow, listen, start
from crewgraph.tools import BaseTool, tool

from .parts import agent, crew, task


class Effects:
    """Async work that lasts until it is let go, and notes its beginnings and ends."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.is_free = False

    async def do(self, name: str) -> str:
        self.lines.append(f"{name} begins")
        await wait_until_async(lambda: self.is_free)
        self.lines.append(f"{name} ends")
        return name

    def tool(self, name: str = "work") -> BaseTool:
        @tool(name)
        async def work() -> str:
            """Work."""
            return await self.do(name)

        return work


def said(messages: Any) -> Any:
    return "Final Answer: end" if any(message["role"] == "assistant" for message in messages) else ToolUse("work", {})


def desk(made: BaseTool) -> Crew:
    return crew(*(task(name, agent(ScriptedLLM(said), tools=[made]), context=[]) for name in ("a", "b")), name="desk")


async def stopped(
    run: Awaitable[object], effects: Effects, has_begun: Callable[[], object], *, cut: bool = False
) -> None:
    supervision, effects.is_free = Supervision(), False
    with supervised(supervision):
        running = asyncio.ensure_future(run)
    await wait_until_async(has_begun)
    for _ in range(3):
        running.cancel()
        await asyncio.sleep(0.02)
        assert not running.done()
    if cut:
        supervision.is_cut = True
        running.cancel()
    effects.is_free = not cut
    with pytest.raises(asyncio.CancelledError):
        await running
    effects.is_free = True


def test_an_async_effect_ends_and_is_recorded_unless_it_is_cut():
    effects, saver = Effects(), InMemorySaver()
    made = desk(effects.tool())

    async def runs() -> None:
        await stopped(made.akickoff(thread_id="t", checkpointer=saver), effects, lambda: effects.lines)
        assert effects.lines == ["work begins", "work ends"]
        await stopped(made.aresume("t", checkpointer=saver), effects, lambda: len(effects.lines) == 3, cut=True)
        assert effects.lines == ["work begins", "work ends", "work begins"]
        assert (await made.aresume("t", checkpointer=saver)).raw == "end"

    asyncio.run(runs())
    assert effects.lines[3:] == ["work begins", "work ends"]


class Office(Flow[dict[str, Any]]):
    desk: Any = None
    work: Any = None

    @start()
    async def first(self) -> str:
        return (await self.desk.akickoff()).raw

    @listen(first)
    async def second(self, before: str) -> str:
        return await self.work(before)


class Parallel(Office):
    @start()
    async def other(self) -> str:
        return await self.work("other")


@pytest.mark.parametrize("kind", [Office, Parallel])
def test_a_crew_in_an_async_method_stops_after_its_effect(kind: type[Office]):
    effects = Effects()
    flow: Any = kind(checkpointer=InMemorySaver())
    flow.desk, flow.work = desk(effects.tool()), effects.do

    async def runs() -> object:
        await stopped(flow.kickoff_async(), effects, lambda: "work begins" in effects.lines)
        assert effects.lines.count("work ends") == effects.lines.count("work begins") == 1
        return await flow.aresume(flow.flow_id)

    asyncio.run(runs())
    assert effects.lines.count("work begins") == 2  # of two tasks, one each
    assert effects.lines.count("end ends") == 1
    if kind is Parallel:
        assert effects.lines.count("other begins") == 1


def test_a_request_that_waits_for_its_rate_limit_is_not_waited_for():
    llm = ScriptedLLM(["Final Answer: a", "Final Answer: b"])
    made = crew(*(task(name, agent(llm), context=[]) for name in ("a", "b")), name="desk", max_rpm=1)

    async def runs() -> None:
        supervision = Supervision()
        with supervised(supervision):
            running = asyncio.ensure_future(made.akickoff(thread_id="t", checkpointer=InMemorySaver()))
        await wait_until_async(lambda: llm.requests)
        await asyncio.sleep(0.3)
        running.cancel()
        async with asyncio.timeout(30):
            with pytest.raises(asyncio.CancelledError):
                await running

    asyncio.run(runs())
    assert len(llm.requests) == 1


class Pausing(InMemorySaver):
    """A checkpointer that takes a while, and says what it does."""

    def __init__(self) -> None:
        super().__init__()
        self.at = ""
        self.is_next = False

    async def _pause(self, at: str) -> None:
        self.at = at
        await asyncio.sleep(0.1)
        self.at = ""

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.is_next = task_id.endswith("?")
        if self.is_next:
            await self._pause("start")
        await super().aput_writes(config, writes, task_id, task_path)

    async def aget_tuple(self, config: Any) -> Any:
        if self.is_next:
            self.is_next = False
            await self._pause("check")
        return await super().aget_tuple(config)


def once_tools(calls: list[str]) -> dict[str, BaseTool]:
    def call(kind: str) -> str:
        calls.append(kind)
        if kind == "failing":
            raise ValueError("no paper")
        return kind

    @tool("work", once=True)
    def sync_tool() -> str:
        """Work."""
        return call("sync")

    @tool("work", once=True)
    async def async_tool() -> str:
        """Work."""
        await asyncio.sleep(0.1)
        return call("async")

    @tool("work", once=True)
    def failing() -> str:
        """Work."""
        return call("failing")

    return {"sync": sync_tool, "async": async_tool, "failing": failing}


@pytest.mark.parametrize("kind", ["sync", "async", "failing"])
@pytest.mark.parametrize("at", ["start", "check"])
@pytest.mark.parametrize("is_supervised", [True, False], ids=["supervised", ""])
def test_a_call_that_is_stored_as_started_happens(kind: str, at: str, is_supervised: bool):
    calls, saver = list[str](), Pausing()
    seconds = 60 if is_supervised else None
    clerk = agent(ScriptedLLM(said), tools=[once_tools(calls)[kind]], max_execution_time=seconds)
    made = crew(task("a", clerk, context=[]), name="desk")

    async def runs() -> str:
        with supervised(Supervision()) if is_supervised else nullcontext():
            running = asyncio.ensure_future(made.akickoff(thread_id="t", checkpointer=saver))
        await wait_until_async(lambda: saver.at == at)
        running.cancel()
        await asyncio.sleep(0.02)
        if is_supervised:
            running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return (await made.aresume("t", checkpointer=saver)).raw

    assert asyncio.run(runs()) == "end"
    assert calls == [kind]
