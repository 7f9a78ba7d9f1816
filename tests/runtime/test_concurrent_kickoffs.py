"""Concurrent kickoffs of one crew: the runs are isolated from each other."""

import asyncio
import gc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from modes import Mode

from crewgraph import Crew, CrewOutput, ScriptedLLM, ToolUse
from crewgraph.tools import tool

from .parts import agent, crew, task

_RUNS = 200


def telling() -> Crew:
    """Two tasks; the first uses a tool, the second tells what the first found. The model keeps no state."""

    @tool
    def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    def reply(messages: Sequence[dict[str, Any]]) -> Any:
        said = str(messages[1]["content"])
        if "double it" in said:
            n = int(said.partition("number ")[2].split()[0])
            seen = str(messages[-1]["content"])
            if "Observation: " not in seen:
                return ToolUse("double", {"n": n})
            return f"Final Answer: twice {n} is {seen.rpartition('Observation: ')[2]}"
        return f"Final Answer: told: {said.partition('twice ')[2].split(chr(10))[0]}"

    worker = agent(ScriptedLLM(reply), role="Worker for {n}", tools=[double])
    teller = agent(worker.llm, role="Teller")
    return crew(
        task("double {n}", worker, description="take the number {n} and double it"),
        task("tell", teller, description="tell the result of run {n}"),
    )


def check(results: Sequence[CrewOutput]) -> None:
    assert [one.raw for one in results] == [f"told: {n} is {2 * n}" for n in range(len(results))]
    for n, result in enumerate(results):
        first, second = result.tasks_output
        assert (first.description, first.agent) == (f"take the number {n} and double it", f"Worker for {n}")
        assert second.description == f"tell the result of run {n}"
        assert result.token_usage.successful_requests == 3
        assert result.token_usage.total_tokens == first.usage.total_tokens + second.usage.total_tokens
    assert len({one.thread_id for one in results}) == len(results)


def test_two_hundred_kickoffs_of_one_crew_do_not_mix(mode: Mode):
    made = telling()

    async def gathered() -> list[CrewOutput]:
        return await asyncio.gather(*(made.akickoff({"n": n}) for n in range(_RUNS)))

    if mode.asynchronous:
        check(asyncio.run(gathered()))
        return

    def run(n: int) -> CrewOutput:
        return made.kickoff({"n": n})

    with ThreadPoolExecutor(32) as pool:
        check(list(pool.map(run, range(_RUNS))))


def test_a_crew_does_not_grow_with_the_runs_it_served(mode: Mode):
    made = telling()
    assert isinstance(made.agents[0].llm, ScriptedLLM)

    def served(times: int) -> int:
        for n in range(times):
            mode.kickoff(made, {"n": n}, checkpointer=False)
        made.agents[0].llm.requests.clear()
        gc.collect()
        return len(gc.get_objects())

    served(10)
    growth: list[int] = []
    while not any(
        one < 300 for one in growth
    ):  # threads of other tests may leave objects; what a run leaves, every run does
        assert len(growth) < 4, f"thirty runs left objects behind: {growth}"
        before = served(10)
        growth.append(served(30) - before)


def test_the_roles_that_worked_on_a_task_and_its_templates_stay_bounded():
    made = telling()
    for n in range(5):
        made.kickoff({"n": n}, checkpointer=False)
    assert made.tasks[0].template("description") == "take the number {n} and double it"
    assert made.tasks[0].description == "take the number 4 and double it"
    assert (made.agents[0].role, made.agents[0].template("role")) == ("Worker for 4", "Worker for {n}")
    assert made.tasks[0].processed_by_agents == {"Worker for 4"}
