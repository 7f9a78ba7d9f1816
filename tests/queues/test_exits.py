"""What user code raises to end the process, or its own task, ends its run; the others and the worker continue."""

import asyncio
import time
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatResult
from langchain_core.tools import StructuredTool

from crewgraph import Agent, BaseLLM, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.contrib.queue import Queue, QueueWorker
from crewgraph.flow import Flow, listen, start
from crewgraph.tools import tool

RAISED: dict[str, BaseException] = {
    "exit": SystemExit(3),
    "interrupt": KeyboardInterrupt(),
    "cancelled": asyncio.CancelledError(),
}
PLACES = {
    "tool": "a call of the tool `leave` raised ",
    "async tool": "a call of the tool `leave` raised ",
    "foreign tool": "a call of the tool `leave` raised ",
    "model": "a request to the model `leaving` raised ",
    "async model": "a request to the model `leaving` raised ",
    "chat model": "a request to the model `LeavingChat` raised ",
    "guardrail": "guardrail `leave` raised ",
    "callback": "callback `leave` raised ",
}


def crew_that_raises(place: str, how: str) -> Crew:
    def leave(*args: object) -> Any:
        """Leave."""
        raise RAISED[how]

    async def aleave(*args: object) -> Any:
        """Leave."""
        await asyncio.sleep(0)
        raise RAISED[how]

    class Leaving(BaseLLM):
        def call(self, messages: Any, **_: Any) -> Any:
            leave()

    class LeavingAsync(Leaving):
        async def acall(self, messages: Any, **_: Any) -> Any:
            await aleave()

    class LeavingChat(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "leaving"

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            raise RAISED[how]

        async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
            raise RAISED[how]

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
    models: dict[str, Any] = {
        "model": Leaving(model="leaving"),
        "async model": LeavingAsync(model="leaving"),
        "chat model": LeavingChat(),
    }
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
            raise RAISED[how]

    class Async(Flow[dict[str, Any]]):
        name = f"async {how}"

        @start()
        async def go(self) -> str:
            await asyncio.sleep(0)
            raise RAISED[how]

    class Parallel(Flow[dict[str, Any]]):
        name = f"parallel {how}"

        @start()
        async def go(self) -> str:
            await asyncio.sleep(0)
            raise RAISED[how]

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
    jobs = [definition.enqueue(queue=queue, retries=0) for definition in definitions]
    asyncio.run(QueueWorker(queue, [innocent, *definitions], concurrency=40).run(wait=False))
    assert [job.status() for job in innocents] == ["done"] * 3
    assert [(job._definition.name, job.status(), job.error()) for job in jobs] == []
