"""The crews of the benchmarks, with CrewAI."""

import asyncio
import sys
import time
from typing import Any

from crewai import Agent, BaseLLM, Crew, Task
from crewai.events import TaskCompletedEvent, crewai_event_bus
from crewai.tools import tool

from benchmarks.peers.clock import printed, timed, waited
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

# Before the first kickoff CrewAI asks people whether to trace; the measured runs are later ones.


def zero_llm(calls: int = 0) -> BaseLLM:
    zero = Zero(calls)

    class ZeroLLM(BaseLLM):
        def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
            return zero.answer()

        def supports_function_calling(self) -> bool:
            return False

        def supports_stop_words(self) -> bool:
            return False

    return ZeroLLM(model="zero")


class SlowLLM(BaseLLM):
    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        time.sleep(SECONDS)
        return ANSWER

    async def acall(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        await asyncio.sleep(SECONDS)
        return ANSWER

    def supports_function_calling(self) -> bool:
        return False

    def supports_stop_words(self) -> bool:
        return False


def crew_of(tasks: int, llm: Any, **wishes: Any) -> Crew:
    agent = Agent(role=ROLE, goal=GOAL, backstory=BACKSTORY, llm=llm, max_iter=2 * CALLS, cache=False, **wishes)
    return Crew(
        agents=[agent],
        tasks=[
            Task(name=f"task_{n}", description=description(n), expected_output=EXPECTED, agent=agent)
            for n in range(tasks)
        ],
        cache=False,
        tracing=False,
    )


def heard() -> list[str]:
    outputs: list[str] = []
    crewai_event_bus.register_handler(TaskCompletedEvent, lambda _, event: outputs.append(event.output.raw))
    return outputs


def run(crew: Crew, outputs: list[str]) -> None:
    outputs.clear()
    result = crew.kickoff()
    if hasattr(crewai_event_bus, "flush"):  # later versions call handlers on threads of their own
        crewai_event_bus.flush()
    patience = time.monotonic() + 5
    while len(outputs) < len(crew.tasks) and time.monotonic() < patience:
        time.sleep(0.001)
    assert len(result.tasks_output) == len(outputs) == len(crew.tasks)


def tasks(count: str) -> dict[str, float]:
    crew, outputs = crew_of(int(count), zero_llm()), heard()
    return timed(lambda: run(crew, outputs), units=int(count), repeats=repeats(int(count)))


def once(count: str) -> dict[str, float]:
    """Each crew is built and run once."""
    outputs = heard()
    return timed(lambda: run(crew_of(int(count), zero_llm()), outputs), units=1, repeats=50)


def tools() -> dict[str, float]:
    called: list[int] = []

    @tool("probe")
    def probe(number: int) -> str:
        """Look up a number."""
        called.append(number)
        return f"seen {number}"

    crew, outputs = crew_of(1, zero_llm(CALLS), tools=[probe]), heard()

    def work() -> None:
        called.clear()
        run(crew, outputs)
        assert called == list(range(1, CALLS + 1)), called

    return timed(work, units=CALLS, repeats=4)


def first() -> dict[str, float]:
    """The processor time of this whole process, up to its first result."""
    run(crew_of(1, zero_llm()), heard())
    return {"cpu": 1000 * time.process_time()}


def each() -> dict[str, float]:
    """Run one crew for a hundred inputs concurrently."""
    crew = crew_of(1, SlowLLM(model="slow"))
    crew.tasks[0].description = "Look into {matter}"

    async def several() -> None:
        outputs = await crew.kickoff_for_each_async(INPUTS)
        assert len({output.tasks_output[0].description for output in outputs}) == len(INPUTS)

    return {"rate": len(INPUTS) / waited(lambda: asyncio.run(several()))}


def beside(count: str) -> dict[str, float]:
    """Run a number of asynchronous tasks, each with its own agent, followed by a synchronous one."""
    agents = [
        Agent(role=f"{ROLE} {n}", goal=GOAL, backstory=BACKSTORY, llm=SlowLLM(model="slow"))
        for n in range(int(count) + 1)
    ]
    tasks = [
        Task(description=description(n), expected_output=EXPECTED, agent=agent, async_execution=n < int(count))
        for n, agent in enumerate(agents)
    ]
    crew = Crew(agents=agents, tasks=tasks, cache=False, tracing=False)
    return {"wall": waited(lambda: crew.kickoff())}


if __name__ == "__main__":
    printed(globals()[sys.argv[1]](*sys.argv[2:]))
