"""What user code raises to end the process, or its own task, ends its run; the others and the worker continue."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from langchain_core.tools import StructuredTool

from crewgraph import Agent, BaseLLM, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.contrib.queue import Queue, QueueWorker
from crewgraph.flow import Flow, listen, start
from crewgraph.tools import tool

RAISED: dict[str, Callable[[], BaseException]] = {
    "exit": lambda: SystemExit(3),
    "interrupt": KeyboardInterrupt,
    "cancelled": asyncio.CancelledError,
}
RAISED_TEXTS = {"exit": "SystemExit: 3", "interrupt": "KeyboardInterrupt", "cancelled": "CancelledError"}
PLACES = {
    "tool": "a call of the tool `leave`",
    "async tool": "a call of the tool `leave`",
    "foreign tool": "a call of the tool `leave`",
    "model": "a request to the model `leaving`",
    "async model": "a request to the model `leaving`",
    "guardrail": "guardrail `leave`",
    "callback": "callback `leave`",
}
"""Where a crew's code may raise it, and how the errors call the place."""


def crew_that_raises(place: str, how: str) -> Crew:
    def leave(*args: object) -> Any:
        """Leave."""
        raise RAISED[how]()

    async def aleave(*args: object) -> Any:
        """Leave."""
        await asyncio.sleep(0)
        raise RAISED[how]()

    class Leaving(BaseLLM):
        def call(self, messages: Any, *_: Any, **__: Any) -> Any:
            leave()

    class LeavingAsync(Leaving):
        async def acall(self, messages: Any, *_: Any, **__: Any) -> Any:
            await aleave()

    @tool("leave")
    def sync_tool() -> str:
        """Leave."""
        return leave()

    @tool("leave")
    async def async_tool() -> str:
        """Leave."""
        return await aleave()

    async def foreign() -> str:
        return await aleave()

    tools: dict[str, Any] = {
        "tool": sync_tool,
        "async tool": async_tool,
        "foreign tool": StructuredTool.from_function(coroutine=foreign, name="leave", description="Leave."),
    }
    models: dict[str, Any] = {"model": Leaving(model="leaving"), "async model": LeavingAsync(model="leaving")}
    said = [ToolUse("leave", {})] if place in tools else ["Final Answer: x"]
    agent = Agent(
        role="r",
        goal="g",
        backstory="b",
        llm=models.get(place, ScriptedLLM(said)),
        tools=[t] if (t := tools.get(place)) else [],
    )
    options: dict[str, Any] = {name: leave for name in ("guardrail", "callback") if name == place}
    task = Task(name="a", description="d", expected_output="e", agent=agent, **options)
    return Crew(name=f"{place} {how}", agents=[agent], tasks=[task])


def flows_that_raise(how: str) -> list[Flow[Any]]:
    class Single(Flow[dict[str, Any]]):
        name = f"single {how}"

        @start()
        def go(self) -> str:
            raise RAISED[how]()

    class Async(Flow[dict[str, Any]]):
        name = f"async {how}"

        @start()
        async def go(self) -> str:
            await asyncio.sleep(0)
            raise RAISED[how]()

    class Parallel(Flow[dict[str, Any]]):
        name = f"parallel {how}"

        @start()
        async def go(self) -> str:
            await asyncio.sleep(0)
            raise RAISED[how]()

        @start()
        def stay(self) -> str:
            return "stays"

        @listen(stay)
        def then(self) -> str:
            return "stays"

    return [Single(), Async(), Parallel()]


def test_what_would_end_the_process_ends_its_own_run(queue: Queue):
    clerk = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(lambda _: time.sleep(0.5) or "Final Answer: well"))
    innocent = Crew(name="innocent", agents=[clerk], tasks=[Task(description="d", expected_output="e", agent=clerk)])
    definitions: list[Any] = [crew_that_raises(place, how) for place in PLACES for how in RAISED]
    definitions += [flow for how in RAISED for flow in flows_that_raise(how)]
    innocents = [innocent.enqueue(queue=queue) for _ in range(3)]
    jobs = {definition.name: definition.enqueue(queue=queue) for definition in definitions}
    asyncio.run(QueueWorker(queue, [innocent, *definitions], concurrency=40).run(wait=False))
    assert [job.status() for job in innocents] == ["done"] * 3
    ended = {name: (job.status(), str(job.error()).partition(". It ends")[0]) for name, job in jobs.items()}
    expected = {
        f"{place} {how}": ("failed", f"RunError: `{RAISED_TEXTS[how]}` was raised in {text}")
        for place, text in PLACES.items()
        for how in RAISED
    }
    expected |= {
        f"{kind} {how}": ("failed", f"RunError: `{RAISED_TEXTS[how]}` was raised in method `go` of flow `{kind} {how}`")
        for kind in ("single", "async", "parallel")
        for how in RAISED
    }
    own = "RunError: method `go` of flow `parallel cancelled` was cancelled by its own code"
    assert ended == {**expected, "parallel cancelled": ("failed", own)}
