"""A run that is lost half way (its event loop was closed) is collected inside another run, which must not notice."""

import asyncio
import gc
import sys
import tempfile
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from modes import Mode

import crewgraph
from crewgraph import Agent, BaseLLM, Crew, Flow, ScriptedLLM, ToolUse, listen, start
from crewgraph.events import BaseEvent, crewai_event_bus
from crewgraph.events.lineage import LINEAGE, Lineage
from crewgraph.hooks import InterceptionPoint, scoped_hooks
from crewgraph.tools import tool

from .parts import agent, crew, task

_DEEP = 12


class Waiting:
    """A place where lost runs wait; tells when as many have come as are awaited."""

    def __init__(self, most: int = 1) -> None:
        self.missing = most
        self.reached = asyncio.Event()

    async def __call__(self) -> str:
        self.missing -= 1
        if not self.missing:
            self.reached.set()
        await asyncio.get_running_loop().create_future()
        return "never"


def lose(work: Coroutine[Any, Any, object], waiting: Waiting, seconds: float | None = None) -> list[object]:
    """Run a coroutine until it waits, or for some seconds, then close its event loop; return the list that alone holds it."""
    loop = asyncio.new_event_loop()
    running = loop.create_task(work)

    async def reached() -> None:
        arrival = loop.create_task(waiting.reached.wait())
        await asyncio.wait([arrival, running], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        assert not running.done(), running.exception() or running.result()
        arrival.cancel()
        await asyncio.wait([arrival])

    loop.run_until_complete(reached())
    loop.close()
    return [running]


def uses_once(name: str, args: dict[str, Any] | None = None) -> ScriptedLLM:
    left: list[Any] = [ToolUse(name, args or {})]
    return ScriptedLLM(lambda messages: left.pop() if left else "Final Answer: ok")


def waits(waiting: Waiting, deep: int = 0) -> Crew:
    """A crew whose tool runs another crew, and so on; the last tool waits."""

    @tool
    async def wait() -> str:
        """Wait."""
        return (await waits(waiting, deep - 1).akickoff()).raw if deep else await waiting()

    return crew(task("waiting", agent(uses_once("wait"), tools=[wait])))


async def nested_crews(waiting: Waiting) -> object:
    return await waits(waiting, _DEEP).akickoff()


async def crew_in_steps(waiting: Waiting) -> object:
    return await waits(waiting, 2).akickoff(granularity="step")


async def crew_not_stored(waiting: Waiting) -> object:
    return await waits(waiting, 2).akickoff(checkpointer=False)


async def compiled_crew(waiting: Waiting) -> object:
    return await waits(waiting, 1).compile().ainvoke({"inputs": {}})


async def crew_with_time_limits(waiting: Waiting) -> object:
    limited = waits(waiting)
    limited.agents[0].max_execution_time = 60
    return await limited.akickoff()


async def traced_crew(waiting: Waiting) -> object:
    return await waits(waiting, 1).akickoff(config={"callbacks": [AsyncCallbackHandler()]})


async def streamed_crew(waiting: Waiting) -> object:
    return [item async for item in waits(waiting, 1).astream()]


async def crew_of_parallel_tasks(waiting: Waiting) -> object:
    waiting.missing = 2
    both = [waits(waiting).tasks[0] for _ in range(2)]
    for number, one in enumerate(both):
        one.name, one.async_execution = f"waiting {number}", True
    last = task("last", agent(ScriptedLLM("Final Answer: ok"), "closer"))
    return await crew(*both, last).akickoff()


async def delegating_crew(waiting: Waiting) -> object:
    coworker = waits(waiting).agents[0]
    coworker.role = "coworker"
    asked = {"task": "wait", "context": "c", "coworker": "coworker"}
    manager = agent(uses_once("delegate_work_to_coworker", asked), "manager", allow_delegation=True)
    return await Crew(agents=[manager, coworker], tasks=[task("delegated", manager)]).akickoff()


async def crews_for_each(waiting: Waiting) -> object:
    return await waits(waiting, 1).akickoff_for_each([{}])


async def lone_agent(waiting: Waiting) -> object:
    alone = waits(waiting, 1).agents[0]
    assert isinstance(alone, Agent)
    return await alone.akickoff("wait")


async def waiting_model(waiting: Waiting) -> object:
    class Slow(BaseLLM):
        def call(self, messages: Any, *args: Any, **keywords: Any) -> str:
            raise NotImplementedError

        async def acall(self, messages: Any, *args: Any, **keywords: Any) -> str:
            return await waiting()

    return await crew(task("asking", agent(Slow("slow")))).akickoff()


async def tool_that_cleans_up(waiting: Waiting) -> object:
    """The cleanup of a user's tool awaits, which nothing can do any more."""

    @tool
    async def wait() -> str:
        """Wait."""
        try:
            return await waiting()
        finally:
            await asyncio.sleep(1)

    return await crew(task("waiting", agent(uses_once("wait"), tools=[wait]))).akickoff()


async def tool_that_ends_otherwise(waiting: Waiting) -> object:
    @tool
    async def wait() -> str:
        """Wait."""
        try:
            return await waiting()
        except BaseException:  # noqa: BLE001 - as users do
            raise ValueError("cleaned up") from None

    return await crew(task("waiting", agent(uses_once("wait"), tools=[wait]))).akickoff()


async def waiting_hook(waiting: Waiting) -> object:
    async def hook(context: object) -> None:
        await waiting()

    with scoped_hooks({InterceptionPoint.EXECUTION_START: [hook]}):
        return await waits(Waiting()).akickoff()


async def flow_with_crews(waiting: Waiting) -> object:
    class Outer(Flow):
        @start()
        async def first(self) -> str:
            return "begun"

        @listen(first)
        async def second(self) -> str:
            return (await waits(waiting, 1).akickoff()).raw

    return await Outer().akickoff()


async def flow_of_parallel_methods(waiting: Waiting) -> object:
    waiting.missing = 2

    class Parallel(Flow):
        @start()
        async def one(self) -> str:
            return (await waits(waiting).akickoff()).raw

        @start()
        async def other(self) -> str:
            return await waiting()

    return await Parallel().akickoff()


async def streamed_flow(waiting: Waiting) -> object:
    class Streamed(Flow):
        @start()
        async def only(self) -> str:
            return (await waits(waiting).akickoff()).raw

    return [item async for item in Streamed().astream()]


async def trained_crew(waiting: Waiting) -> object:
    return await waits(waiting).atrain(1, str(Path(tempfile.mkdtemp()) / "lost.json"), feedback=lambda output: "")


async def crew_under_test(waiting: Waiting) -> object:
    return await waits(waiting).atest(1, eval_llm=ScriptedLLM("ok"))


LOST: list[Callable[[Waiting], Coroutine[Any, Any, object]]] = [
    nested_crews, crew_in_steps, crew_not_stored, compiled_crew, crew_with_time_limits, traced_crew,
    streamed_crew, crew_of_parallel_tasks, delegating_crew, crews_for_each, lone_agent, waiting_model,
    tool_that_cleans_up, tool_that_ends_otherwise, waiting_hook, flow_with_crews, flow_of_parallel_methods,
    streamed_flow, trained_crew, crew_under_test,
]  # fmt: skip


@contextmanager
def hearing_complaints() -> Generator[list[str]]:
    """What Python says about exceptions of our code that nobody can catch, and of any code about foreign contexts.

    LangGraph's and LangChain's own coroutines await in their cleanup, which a closed loop cannot do.
    """
    said: list[str] = []

    def note(told: Any) -> None:
        place = getattr(
            getattr(told.object, "cr_code", None) or getattr(told.object, "gi_code", None), "co_filename", ""
        )
        if "different Context" in repr(told.exc_value) or str(Path(crewgraph.__file__).parent) in place:
            said.append(f"{told.exc_value!r} in {told.object!r}")

    hook, sys.unraisablehook = sys.unraisablehook, note
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield said
    finally:
        sys.unraisablehook = hook
        if enabled:
            gc.enable()


@pytest.fixture
def complaints() -> Generator[list[str]]:
    with hearing_complaints() as said:
        yield said


def visited(mode: Mode, kept: list[object], event_number: int | None = None) -> list[BaseEvent]:
    """Collect what is lost inside the tool of another run, or at an event before; check its context, and return its events."""
    differences: list[object] = []

    def drop() -> str:
        before, seen = dict(copy_context().items()), len(events)
        kept.clear()
        gc.collect()
        after = dict(copy_context().items())
        differences.extend(v for v in {*before, *after} if before.get(v) is not after.get(v))
        differences.extend(events[seen:])
        return "collected"

    @tool
    def collect() -> str:
        """Collect."""
        return drop()

    @tool
    async def acollect() -> str:
        """Collect."""
        return drop()

    used = acollect if mode.asynchronous else collect

    @tool
    async def inner() -> str:
        """Run a crew."""
        return (await crew(task("inside", agent(ScriptedLLM("Final Answer: inner")))).akickoff()).raw

    replies = [ToolUse(used.name, {}), ToolUse("inner", {}), "Final Answer: done"]
    events: list[BaseEvent] = []

    def note(source: object, event: BaseEvent) -> None:
        events.append(event)
        if len(events) == event_number:
            drop()

    crewai_event_bus.register_handler(BaseEvent, note)
    try:
        other = crew(task("collecting", agent(ScriptedLLM(replies), tools=[used, inner])))
        output = mode.kickoff(other)
    finally:
        crewai_event_bus.off(BaseEvent, note)
    assert output.raw == "done"
    assert output.token_usage.successful_requests == 3
    assert differences == []
    assert not kept
    return events


def check_a_visit(mode: Mode, kept: list[object], event_number: int | None = None) -> None:
    """Collect what is lost inside another run.

    Raises:
        AssertionError: that run has noticed.
    """
    events = visited(mode, kept, event_number)
    kickoff, inner = (event for event in events if event.type == "crew_kickoff_started")
    used = [event for event in events if event.type == "tool_usage_started"]
    assert [event.parent_event_id for event in used] == [used[0].parent_event_id] * 2
    assert inner.parent_event_id == used[1].event_id
    assert kickoff.parent_event_id is None
    types = [event.type for event in events]
    assert (types.count("task_started"), types.count("task_completed"), types.count("task_failed")) == (2, 2, 0)
    assert LINEAGE.get() == Lineage()


@pytest.mark.parametrize("kind", LOST, ids=lambda kind: kind.__name__)
def test_a_run_does_not_notice_that_a_lost_one_is_collected_inside_it(
    mode: Mode, kind: Callable[[Waiting], Coroutine[Any, Any, object]], complaints: list[str]
):
    waiting = Waiting()
    check_a_visit(mode, lose(kind(waiting), waiting))
    assert complaints == []


def test_a_stream_that_is_dropped_inside_another_run_ends_with_its_own_listeners(mode: Mode, complaints: list[str]):
    said: list[str] = []

    def until_it_streams() -> list[object]:
        items = crew(
            task("first", agent(ScriptedLLM("Final Answer: one"))),
            task("second", agent(ScriptedLLM("Final Answer: two"))),
        ).stream()
        said.append(type(next(items)).__name__)
        return [items]

    kept = until_it_streams()
    items: list[Any] = []

    @tool
    def drop() -> str:
        """Drop the stream."""
        kept.clear()
        gc.collect()
        return "dropped"

    for item in mode.stream_items(crew(task("dropping", agent(uses_once("drop"), tools=[drop])))):
        items.append(item)
    assert not kept
    assert {item.task for item in items if hasattr(item, "task")} == {"dropping"}
    assert items[-1].output.raw == "ok"
    assert complaints == []


def test_many_kickoffs_of_one_crew_in_one_method_keep_their_own_scopes():
    @tool
    async def look() -> str:
        """Look."""
        await asyncio.sleep(0.001)
        return "seen"

    def reply(messages: Any) -> Any:
        return "Final Answer: ok" if "seen" in str(messages[-1]["content"]) else ToolUse("look", {})

    shared = crew(task("looking", agent(ScriptedLLM(reply), tools=[look])))

    class Many(Flow):
        @start()
        async def gather(self) -> int:
            return len(await asyncio.gather(*(shared.akickoff() for _ in range(60))))

    parents: dict[str, tuple[str, str | None]] = {}

    def note(source: object, event: BaseEvent) -> None:
        parents[event.event_id] = event.type, event.parent_event_id

    with crewai_event_bus.scoped_handlers():
        crewai_event_bus.register_handler(BaseEvent, note)
        assert asyncio.run(Many().akickoff()) == 60
    for kind, around in (("task_started", "crew_kickoff_started"), ("agent_execution_started", "task_started")):
        openers = [parent for name, parent in parents.values() if name == kind]
        assert len(set(openers)) == 60
        assert {parents[str(parent)][0] for parent in openers} == {around}
