"""Abandoned streams: the run stops where it is, and its finished work is stored."""

import asyncio
import gc
import threading
import time
from collections.abc import Callable
from contextlib import aclosing, closing
from typing import Any

import pytest
from modes import Mode
from servers.langsmith_api import traced
from servers.openai_api import Answer, OpenAIServer, Request, text
from waiting import LONG, wait_until

from crewgraph import BaseLLM, Crew, ModelStarted, ScriptedLLM, Started, TaskFinished, TaskStarted, Token, ToolUse
from crewgraph.events import CrewKickoffCompletedEvent, CrewKickoffFailedEvent
from crewgraph.events.stream_context import LISTENING
from crewgraph.testing import record_events
from crewgraph.tools import tool

from .parts import agent, crew, served, task

Serve = Callable[[Any], OpenAIServer]


def left_at(mode: Mode, team: Crew, kind: type, thread_id: str = "one", times: int = 1, **options: Any) -> None:
    """Read a crew's stream up to an item of a kind, and leave."""
    items = mode.stream_items(team, thread_id=thread_id, **options)
    with closing(items):  # pyright: ignore[reportArgumentType]
        for item in items:
            times -= isinstance(item, kind)
            if not times:
                break


def late(request: Request) -> Answer:
    return text("x", delay=100)


def two(first: Any, second: Any) -> Crew:
    return crew(task("a", agent(first)), task("b", agent(second)))


@pytest.mark.parametrize("kind", [TaskFinished, TaskStarted])
def test_finished_work_is_stored_and_pending_work_does_not_begin(mode: Mode, kind: type):
    first, second = ScriptedLLM(["x"]), ScriptedLLM(["y"])
    team = two(first, second)
    left_at(mode, team, kind)
    done = len(first.requests)
    assert second.requests == []
    assert mode.resume(team, "one").raw == "y"
    assert (len(first.requests), len(second.requests)) == (1, 1)
    assert done == (1 if kind is TaskFinished else done)


def test_leaving_in_the_middle_of_an_answer_ends_the_request(mode: Mode, serve: Serve):
    words = " ".join(f"word{number}" for number in range(20_000))
    server = serve([words, "short"])
    team = crew(task("a", agent(served(server.url))))
    before = time.monotonic()
    left_at(mode, team, Token)
    assert time.monotonic() - before < LONG
    assert mode.resume(team, "one").raw == "short"


def test_running_tool_ends_and_its_result_is_stored(mode: Mode):
    left = threading.Event()
    began: list[int] = []
    used: list[int] = []

    @tool
    def slow() -> str:
        """Work."""
        began.append(1)
        assert left.wait(LONG)
        used.append(1)
        return "done"

    llm = ScriptedLLM([ToolUse("slow"), "Final Answer: x"])
    team = crew(task("a", agent(llm, tools=[slow])))
    items: Any = mode.stream_items(team, thread_id="one")
    for item in items:
        if item.kind == "tool_started":
            break
    threading.Timer(1, left.set).start()
    items.close()
    assert len(llm.requests) == 1
    assert mode.resume(team, "one").raw == "x"
    # A sync run waits for the tool and keeps its result. An async one cannot: where the tool was begun before the loop stood
    # still, it goes on in its thread, unheard.
    assert len(used) == len(began)
    assert len(began) in ((1, 2) if mode.asynchronous else (1,))


def test_an_async_run_does_not_wait_for_a_request_under_way(serve: Serve):
    server = serve(late)
    team = crew(task("a", agent(served(server.url))))

    async def read() -> float:
        async with aclosing(team.astream()) as items:
            async for item in items:
                if isinstance(item, ModelStarted):
                    await asyncio.sleep(0.1)
                    break
            began = time.monotonic()
        return time.monotonic() - began

    assert asyncio.run(read()) < LONG


def test_a_cancelled_reader_cancels_the_run(serve: Serve):
    server = serve(late)
    team = crew(task("a", agent(served(server.url))))

    async def read() -> None:
        async for _ in team.astream():
            pass

    async def cancelled() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(read(), 0.5)
        assert [running for running in asyncio.all_tasks() if running is not asyncio.current_task()] == []

    asyncio.run(cancelled())


def test_all_parallel_tasks_end(mode: Mode):
    class Endless(BaseLLM):
        stopped = False

        def call(self, messages: Any, *_: Any, **__: Any) -> str:
            try:
                for _number in range(10_000):
                    self._emit_text("x")
                    time.sleep(0.01)
            except BaseException:
                self.stopped = True
                raise
            raise AssertionError("nobody stopped it")

    models = [Endless("one"), Endless("two")]
    one, other = (task(llm.model, agent(llm, llm.model), async_execution=True) for llm in models)
    left_at(mode, crew(one, other, task("last", agent(ScriptedLLM([])))), Token, times=20)
    wait_until(
        lambda: all(llm.stopped for llm in models)
    )  # in an async run, sync models' threads hear of it a moment later


def test_no_thread_is_left_behind(mode: Mode):
    def threads() -> set[str]:
        # The default database stays open for as long as the process lives, and so do threads that are used again.
        shared = ("crewgraph-call", "crewgraph-database", "asyncio_")
        return {thread.name for thread in threading.enumerate() if not thread.name.startswith(shared)}

    left_at(mode, two(ScriptedLLM(["x y"], stream=True), ScriptedLLM([])), Token, thread_id="first")
    before = threads()
    for number in range(3):
        left_at(mode, two(ScriptedLLM(["x y"], stream=True), ScriptedLLM([])), Token, thread_id=f"run{number}")
    wait_until(lambda: threads() <= before)


def test_unreferenced_stream_ends(mode: Mode):
    llm = ScriptedLLM(["x", "y"])
    items = mode.stream_items(two(llm, llm))
    while not isinstance(next(items), TaskFinished):
        pass
    del items
    gc.collect()
    time.sleep(0.1)
    assert len(llm.requests) == 1


def test_unreferenced_async_stream_ends_with_its_loop():
    llm = ScriptedLLM(["x", "y"])
    team = two(llm, llm)

    async def read() -> None:
        async for item in team.astream():
            if isinstance(item, TaskFinished):
                break
        await asyncio.sleep(0.1)

    asyncio.run(read())
    assert len(llm.requests) == 1


def test_leaving_at_the_first_or_the_last_item_is_fine(mode: Mode):
    llm = ScriptedLLM(["x"], repeat_last=True)
    team = crew(task("a", agent(llm)))
    left_at(mode, team, Started)
    assert llm.requests == []
    with record_events() as events:
        items: Any = mode.stream_items(team, thread_id="two")
        for item in items:
            if item.kind == "finished":
                break
        items.close()
    assert [event.type for event in events][-1] == "crew_kickoff_completed"
    assert mode.resume(team, "two").raw == "x"


def test_listeners_are_notified_that_the_run_ended_early(mode: Mode):
    team = two(ScriptedLLM(["x"]), ScriptedLLM(["y"]))
    with record_events() as events:
        left_at(mode, team, TaskFinished)
    assert [type(event) for event in events if "kickoff" in event.type][1:] == [CrewKickoffFailedEvent]
    assert not any(isinstance(event, CrewKickoffCompletedEvent) for event in events)
    failed = next(event for event in events if isinstance(event, CrewKickoffFailedEvent))
    assert (
        failed.error == "RunAbandoned: the run was abandoned: its stream was closed, or the enclosing run was cancelled"
    )


def test_nothing_of_the_stream_stays_in_the_readers_context(mode: Mode):
    items: Any = mode.stream_items(two(ScriptedLLM(["x"]), ScriptedLLM(["y"])))
    for item in items:
        assert LISTENING.get().sinks == ()
        if isinstance(item, TaskFinished):
            break
    items.close()
    assert LISTENING.get().sinks == ()


def test_every_run_ends_in_the_trace(mode: Mode, serve: Serve):
    team = crew(task("a", agent(served(serve([" ".join("word" for _ in range(5_000))]).url))))
    with traced() as langsmith:
        left_at(mode, team, Token)
        tree = langsmith.tree().splitlines()
    assert [line.strip() for line in tree if "[llm]" in line] == ["test [llm] !"]
