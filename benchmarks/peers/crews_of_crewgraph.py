"""The crews of the benchmarks, with the public names of crewgraph.

What is heavy is imported where it is used: `first` measures the imports.
"""

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.clock import printed, timed, waited
from benchmarks.peers.database import bytes_of
from benchmarks.peers.workload import (
    ANSWER,
    BACKSTORY,
    CALLS,
    EXPECTED,
    GOAL,
    INPUTS,
    ROLE,
    SECONDS,
    Zero,
    description,
    repeats,
)
from crewgraph import LLM, Agent, BaseLLM, Crew, Task
from crewgraph.events import TaskCompletedEvent, crewai_event_bus


class ZeroLLM(BaseLLM):
    def __init__(self, calls: int = 0) -> None:
        super().__init__("zero")
        self._zero = Zero(calls)

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        return self._zero.answer()


class SlowLLM(BaseLLM):
    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        time.sleep(SECONDS)
        return ANSWER

    async def acall(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        await asyncio.sleep(SECONDS)
        return ANSWER


def crew_of(tasks: int, llm: Any, **wishes: Any) -> Crew:
    agent = Agent(role=ROLE, goal=GOAL, backstory=BACKSTORY, llm=llm, max_iter=2 * CALLS, cache=False, **wishes)
    return Crew(
        agents=[agent],
        tasks=[
            Task(name=f"task_{n}", description=description(n), expected_output=EXPECTED, agent=agent)
            for n in range(tasks)
        ],
        cache=False,
    )


def heard() -> list[str]:
    """The outputs that a listener receives."""
    outputs: list[str] = []
    crewai_event_bus.register_handler(TaskCompletedEvent, lambda _, event: outputs.append(event.output.raw))
    return outputs


def run(crew: Crew, outputs: list[str], checkpointer: Any = False) -> None:
    outputs.clear()
    result = crew.kickoff(checkpointer=checkpointer)
    assert len(result.tasks_output) == len(outputs) == len(crew.tasks)


def tasks(count: str) -> dict[str, float]:
    crew, outputs = crew_of(int(count), ZeroLLM()), heard()
    return timed(lambda: run(crew, outputs), units=int(count), repeats=repeats(int(count)))


def compiled(count: str) -> dict[str, float]:
    """The graph alone, compiled once."""
    graph, outputs = crew_of(int(count), ZeroLLM()).compile(checkpointer=False), heard()

    def invoke() -> None:
        outputs.clear()
        graph.invoke({"inputs": {}})
        assert len(outputs) == int(count)

    return timed(invoke, units=int(count), repeats=repeats(int(count)))


def once(count: str, keep: str) -> dict[str, float]:
    """Each crew is built and run once, as programs with `@CrewBase` do."""
    checkpointer, outputs = (False if keep == "nothing" else None), heard()
    return timed(lambda: run(crew_of(int(count), ZeroLLM()), outputs, checkpointer), units=1, repeats=50)


def kept(count: str) -> dict[str, float]:
    from crewgraph.storage.checkpoints import SqliteCheckpointer

    crew, outputs = crew_of(int(count), ZeroLLM()), heard()
    with SqliteCheckpointer("kept.db") as saver:
        return timed(lambda: run(crew, outputs, saver), units=int(count), repeats=repeats(int(count)))


def stored(count: str) -> dict[str, float]:
    from crewgraph.storage.checkpoints import SqliteCheckpointer

    crew, outputs = crew_of(int(count), ZeroLLM()), heard()
    with SqliteCheckpointer("stored.db") as saver:
        run(crew, outputs, saver)
    return {"bytes": bytes_of(Path("stored.db")) / int(count)}


def tools(protocol: str) -> dict[str, float]:
    from benchmarks.peers.chat import ZeroChat
    from crewgraph.tools import tool

    called: list[int] = []

    @tool
    def probe(number: int) -> str:
        """Look up a number."""
        called.append(number)
        return f"seen {number}"

    llm = ZeroChat() if protocol == "native" else ZeroLLM(CALLS)
    crew, outputs = crew_of(1, llm, tools=[probe]), heard()

    def work() -> None:
        called.clear()
        run(crew, outputs)
        assert called == list(range(1, CALLS + 1)), called

    return timed(work, units=CALLS, repeats=4)


def first(keep: str) -> dict[str, float]:
    """The processor time of this whole process, up to its first result."""
    run(crew_of(1, ZeroLLM()), heard(), checkpointer=False if keep == "nothing" else None)
    return {"cpu": 1000 * time.process_time()}


def http(url: str, keep: str) -> dict[str, float]:
    from crewgraph.storage.checkpoints import SqliteCheckpointer

    llm = LLM("openai/test", base_url=url, api_key="key")
    crew, outputs = crew_of(1, llm), heard()
    saver = SqliteCheckpointer("http.db") if keep == "kept" else False
    return timed(lambda: run(crew, outputs, saver), units=1, repeats=50)


def each(keep: str) -> dict[str, float]:
    """Run one crew for a hundred inputs concurrently."""
    from crewgraph.storage.checkpoints import SqliteCheckpointer

    crew = crew_of(1, SlowLLM("slow"))
    crew.tasks[0].description = "Look into {matter}"
    saver = SqliteCheckpointer("each.db") if keep == "kept" else False

    async def several() -> None:
        outputs = await crew.kickoff_for_each_async(INPUTS, checkpointer=saver)
        assert len({output.tasks_output[0].description for output in outputs}) == len(INPUTS)

    return {"rate": len(INPUTS) / waited(lambda: asyncio.run(several()))}


def beside(count: str, method_name: str) -> dict[str, float]:
    """Run a number of asynchronous tasks, followed by a synchronous one."""
    crew = crew_of(int(count) + 1, SlowLLM("slow"))
    for task in crew.tasks[:-1]:
        task.async_execution = True

    method_names = {
        "kickoff": lambda: crew.kickoff(checkpointer=False),
        "akickoff": lambda: asyncio.run(crew.akickoff(checkpointer=False)),
    }

    def run() -> None:
        result = method_names[method_name]()
        assert len(result.tasks_output) == len(crew.tasks)

    return {"wall": waited(run)}


if __name__ == "__main__":
    printed(globals()[sys.argv[1]](*sys.argv[2:]))
