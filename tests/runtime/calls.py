"""The cost of a task, a tool cycle and a flow method in function calls, and in garbage left to collect.

Times depend on the machine, these counts on the code alone: a feature that every task would pay for, used or not, shows here
first. A bound may be raised for something that every run needs; say so in the commit. Figures in time are in `benchmarks`.
"""

import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import crewgraph
from crewgraph import Agent, BaseLLM, Crew, Flow, Task, listen, start
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer
from crewgraph.tools import tool

_ROOT = str(Path(crewgraph.__file__).parent)


class Answering(BaseLLM):
    """A model that costs nothing; `asked` is called with each request."""

    asked: Callable[[], object] = staticmethod(lambda: None)

    def call(self, messages: Any, *args: Any, **keywords: Any) -> str:
        self.asked()
        return "Final Answer: It is settled."


class Looking(BaseLLM):
    """A model that uses a tool some times before it answers."""

    def __init__(self, model: str, times: int) -> None:
        super().__init__(model)
        self.left = times

    def call(self, messages: Any, *args: Any, **keywords: Any) -> str:
        if not self.left:
            return "Final Answer: It is settled."
        self.left -= 1
        return f'Action: look\nAction Input: {{"number": {self.left}}}'


def own_calls(work: Callable[[], object], into: list[tuple[str, str]] | None = None) -> list[tuple[str, str]]:
    """Return file and name of each of crewgraph's functions that some work calls, on any thread."""
    return python_calls(work, into, _ROOT)


def python_calls(
    work: Callable[[], object], into: list[tuple[str, str]] | None = None, below: str = ""
) -> list[tuple[str, str]]:
    """Return file and name of each Python function that some work calls, LangGraph's and LangChain's among them."""
    calls: list[tuple[str, str]] = [] if into is None else into

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(below):
            calls.append((frame.f_code.co_filename, frame.f_code.co_qualname))

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def crew_of(number: int) -> Crew:
    agent = Agent(role="Clerk", goal="Settle", backstory="You settle.", llm=Answering("free"))
    tasks = [Task(description=f"Settle {n}", expected_output="A line", agent=agent) for n in range(number)]
    return Crew(agents=[agent], tasks=tasks)


@pytest.mark.parametrize(
    ("tasks", "stored", "own", "bound"),
    [(1, False, 475, 1275), (1, True, 730, 1760), (100, False, 357, 1030), (100, True, 472, 1325)],
    ids=["one, not stored", "one, stored", "of a hundred, not stored", "of a hundred, stored"],
)
def test_a_task_costs_what_it_uses(tmp_path: Path, tasks: int, stored: bool, own: int, bound: int):
    crew = crew_of(tasks)
    checkpointer: Any = SqliteCheckpointer(tmp_path / "runs.db") if stored else False
    for _ in range(2):
        crew.kickoff(checkpointer=checkpointer)
    counted = [
        len(calls(lambda: crew.kickoff(checkpointer=checkpointer))) / tasks for calls in (own_calls, python_calls)
    ]
    assert all(number <= most for number, most in zip(counted, (own, bound), strict=True)), counted


def test_a_task_of_a_compiled_crew_costs_what_it_uses():
    graph = crew_of(100).compile()
    for _ in range(2):
        graph.invoke({"inputs": {}})
    counted = [len(calls(lambda: graph.invoke({"inputs": {}}))) / 100 for calls in (own_calls, python_calls)]
    assert all(number <= most for number, most in zip(counted, (362, 1255), strict=True)), counted


def test_the_way_to_the_request_is_short():
    crew, reached = crew_of(1), list[int]()
    for _ in range(2):
        crew.kickoff(checkpointer=False)
    model: Any = crew.agents[0].llm
    calls: list[tuple[str, str]] = []
    model.asked = lambda: reached.append(len(calls))
    own_calls(lambda: crew.kickoff(checkpointer=False), into=calls)
    way = calls[: reached[0]]
    counted = (len(way), len(set(way)), len({file for file, _ in way}))
    assert all(number <= bound for number, bound in zip(counted, (320, 250, 78), strict=True)), counted


def test_a_tool_cycle_costs_what_it_uses():
    @tool
    def look(number: int) -> str:
        """Look at a number."""
        return f"seen {number}"

    cycles = 20
    agent = Agent(role="Clerk", goal="Look", backstory="You look.", tools=[look], max_iter=100, cache=False)
    crew = Crew(agents=[agent], tasks=[Task(description="Look", expected_output="A line", agent=agent)], cache=False)

    def run() -> None:
        agent.llm = Looking("free", cycles)
        crew.kickoff(checkpointer=False)

    run()
    assert len(own_calls(run)) / cycles <= 309


@pytest.mark.parametrize("stored", [False, True], ids=["not stored", "stored"])
def test_a_run_leaves_nothing_to_the_garbage_collector(tmp_path: Path, stored: bool):
    @tool
    def look(number: int) -> str:
        """Look at a number."""
        return f"seen {number}"

    agent = Agent(role="Clerk", goal="Look", backstory="You look.", tools=[look], llm=Looking("free", 3), cache=False)
    tasks = [Task(description=f"Look {n}", expected_output="A line", agent=agent) for n in range(3)]
    crew = Crew(agents=[agent], tasks=tasks, cache=False)
    checkpointer: Any = SqliteCheckpointer(tmp_path / "runs.db") if stored else False
    for _ in range(2):
        crew.kickoff(checkpointer=checkpointer)
    gc.collect()
    gc.disable()
    try:
        crew.kickoff(checkpointer=checkpointer)
        left = gc.collect()
    finally:
        gc.enable()
    assert left == 0


def test_a_method_of_a_flow_costs_what_it_uses():
    def method() -> Callable[[Any], None]:
        return lambda self: None

    methods: dict[str, Any] = {"m0": start()(method())}
    for number in range(1, 20):
        methods[f"m{number}"] = listen(f"m{number - 1}")(method())
    chain: Any = type("Chain", (Flow,), methods)
    for _ in range(2):
        chain().kickoff(checkpointer=False)
    assert len(own_calls(lambda: chain().kickoff(checkpointer=False))) / len(methods) <= 140
