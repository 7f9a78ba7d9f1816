"""Definitions may change between runs: each feature, enabled after a first run, works in the second."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel

from crewgraph import Agent, Crew, Task
from crewgraph.errors import CompileError
from crewgraph.events import TaskCompletedEvent, crewai_event_bus
from crewgraph.hooks import InterceptionPoint, scoped_hooks
from crewgraph.knowledge import Knowledge, KnowledgeStorage, StringKnowledgeSource
from crewgraph.llm.scripted import ScriptedLLM
from crewgraph.tools import tool


class Depth(BaseModel):
    metres: int


class Lake:
    """A crew of one task, and what its model was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.recorded = folder, list[Any]()
        self.asked: list[str] = []
        self.agent: Any = Agent(role="Clerk", goal="Measure", backstory="You measure.", llm=ScriptedLLM(self._answer))
        self.task: Any = Task(description="Measure the lake", expected_output="A depth", agent=self.agent)
        self.crew: Any = Crew(agents=[self.agent], tasks=[self.task], checkpointer=False)

    def _answer(self, messages: list[dict[str, Any]]) -> str:
        self.asked.append("\n".join(str(message["content"]) for message in messages))
        return 'Final Answer: {"metres": 7}'


@tool
def sound(place: str) -> str:
    """Sound the depth of a place."""
    return f"7 at {place}"


def a_guardrail(lake: Lake) -> None:
    def asks_twice(output: object) -> tuple[bool, str]:
        return len(lake.asked) > 2, "measure again"

    lake.task.guardrail = asks_twice


def a_structure(lake: Lake) -> None:
    lake.task.output_pydantic = Depth


def a_file(lake: Lake) -> None:
    lake.task.output_file = "depth.txt"


def a_tool(lake: Lake) -> None:
    lake.agent.tools = [sound]


def a_callback(lake: Lake) -> None:
    lake.task.callback = lake.recorded.append


def a_step_callback(lake: Lake) -> None:
    lake.agent.step_callback = lake.recorded.append


def another_text(lake: Lake) -> None:
    lake.task.description = "Measure the pond"


def another_model(lake: Lake) -> None:
    lake.agent.llm = ScriptedLLM(lambda messages: lake.recorded.append(messages) or "Final Answer: 8")


def training_data(lake: Lake) -> None:
    lake.crew.training_data = {"Clerk": {"suggestions": ["Use a line."], "quality": 7, "final_summary": "Well."}}


def an_override(lake: Lake) -> None:
    class Own(Agent):
        def execute_task(self, task: Any, context: Any = None, tools: Any = None) -> str:
            lake.recorded.append(task)
            return "9"

    lake.agent.__class__ = Own


def an_executor(lake: Lake) -> None:
    def executor(inputs: Any) -> dict[str, str]:
        lake.recorded.append(inputs)
        return {"output": "9"}

    lake.agent.agent_executor = executor


def a_coworker(lake: Lake) -> None:
    lake.crew.agents.append(Agent(role="Diver", goal="Dive", backstory="You dive.", llm=lake.agent.llm))
    lake.agent.allow_delegation = True


def prompts_of_its_own(lake: Lake) -> None:
    path = lake.folder / "prompts.json"
    path.write_text('{"slices": {"expected_output": "WANTED: {expected_output}"}}')
    lake.crew.prompt_file = str(path)


def a_tool_that_is_appended(lake: Lake) -> None:
    lake.agent.tools.append(sound)


def a_guardrail_that_is_appended(lake: Lake) -> None:
    lake.task.guardrails = []
    lake.crew.kickoff()
    lake.asked.clear()

    def asks_once_more(output: object) -> tuple[bool, str]:
        return len(lake.asked) > 1, "measure once more"

    lake.task.guardrails.append(asks_once_more)


def a_task_that_is_appended(lake: Lake) -> None:
    lake.crew.tasks.append(Task(description="Write it down", expected_output="A line", agent=lake.agent))


def knowledge(lake: Lake) -> None:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    storage = KnowledgeStorage(embedder=embed, collection_name="lakes")
    lake.agent.knowledge = Knowledge("lakes", [StringKnowledgeSource(content="The lake is deep.")], storage=storage)


def a_log(lake: Lake) -> None:
    lake.crew.output_log_file = str(lake.folder / "log.json")


def is_logged(lake: Lake) -> bool:
    return "Measure the lake" in (lake.folder / "log.json").read_text()


def is_noted(lake: Lake) -> bool:
    return bool(lake.recorded)


def is_structured(lake: Lake) -> bool:
    return lake.task.output.pydantic == Depth(metres=7)


def is_written(lake: Lake) -> bool:
    return (lake.folder / "depth.txt").read_text() == '{"metres": 7}'


def asked(text: str) -> Callable[[Lake], bool]:
    def is_asked(lake: Lake) -> bool:
        return text in lake.asked[-1]

    return is_asked


@pytest.mark.parametrize(
    ("switch", "works"),
    [
        (a_guardrail, asked("measure again")),
        (a_structure, is_structured),
        (a_file, is_written),
        (a_tool, asked("sound")),
        (a_tool_that_is_appended, asked("sound")),
        (a_guardrail_that_is_appended, asked("measure once more")),
        (a_task_that_is_appended, asked("Write it down")),
        (knowledge, asked("The lake is deep.")),
        (a_log, is_logged),
        (a_callback, is_noted),
        (a_step_callback, is_noted),
        (another_text, asked("Measure the pond")),
        (another_model, is_noted),
        (training_data, asked("Use a line.")),
        (an_override, is_noted),
        (an_executor, is_noted),
        (a_coworker, asked("Diver")),
        (prompts_of_its_own, asked("WANTED: A depth")),
    ],
)
def test_what_is_switched_on_between_two_runs_works_in_the_second(
    mode: Mode,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    switch: Callable[[Lake], None],
    works: Callable[[Lake], bool],
):
    monkeypatch.chdir(tmp_path)
    lake = Lake(tmp_path)
    mode.kickoff(lake.crew)
    assert not lake.recorded
    assert len(lake.asked) == 1
    switch(lake)
    mode.kickoff(lake.crew)
    assert works(lake)


def test_a_hook_and_a_listener_that_come_later_are_called(mode: Mode, tmp_path: Path):
    lake = Lake(tmp_path)
    mode.kickoff(lake.crew)
    points = [InterceptionPoint.PRE_STEP, InterceptionPoint.PRE_MODEL_CALL, InterceptionPoint.EXECUTION_START]
    with crewai_event_bus.scoped_handlers(), scoped_hooks({point: [lake.recorded.append] for point in points}):
        crewai_event_bus.register_handler(TaskCompletedEvent, lambda source, event: lake.recorded.append(event))
        mode.kickoff(lake.crew)
    assert len(lake.recorded) == 4
    mode.kickoff(lake.crew)
    assert len(lake.recorded) == 4


def test_a_budget_and_a_setting_that_become_invalid_are_refused_before_the_next_run(mode: Mode, tmp_path: Path):
    lake = Lake(tmp_path)
    mode.kickoff(lake.crew)
    lake.crew.max_tokens = -1
    with pytest.raises(ValueError, match="`max_tokens` is a whole number above 0"):
        mode.kickoff(lake.crew)
    lake.crew.max_tokens = None
    lake.agent.from_repository = "clerk"
    with pytest.raises(CompileError, match="from_repository"):
        mode.kickoff(lake.crew)
    assert len(lake.asked) == 1
