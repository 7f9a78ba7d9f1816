"""Callbacks of tasks, agents and crews: when they are called, with which arguments, and in which order."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from modes import Mode
from waiting import wait_until

from crewgraph import CrewOutput, ScriptedLLM, TaskOutput, ToolUse
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.events import TaskCompletedEvent, crewai_event_bus
from crewgraph.tools import tool

from .parts import agent, crew, task


def test_the_end_of_a_task_has_an_order(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    order: list[str] = []

    def own(output: TaskOutput) -> None:
        assert made.tasks[0].output == output
        assert made.tasks[0].end_time is not None
        order.append(f"task.callback, file {Path('a.md').exists()}")

    def crews(output: TaskOutput) -> None:
        order.append(f"crew.task_callback, file {Path('a.md').exists()}")

    made = crew(task("a", agent(ScriptedLLM(["x"])), callback=own, output_file="a.md"), task_callback=crews)
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(TaskCompletedEvent)
        def _(source: Any, event: Any) -> None:
            order.append(f"completed, file {Path('a.md').exists()}")

        mode.kickoff(made)
    assert order == ["task.callback, file False", "crew.task_callback, file False", "completed, file True"]


def test_a_function_that_is_the_tasks_and_the_crews_callback_is_called_once(mode: Mode):
    reported: list[str] = []

    def both(output: TaskOutput) -> None:
        reported.append(output.raw)

    worker = agent(ScriptedLLM(["x", "y"]))
    mode.kickoff(crew(task("a", worker, callback=both), task("b", worker), task_callback=both))
    assert reported == ["x", "y"]


def test_step_callbacks_are_told_about_each_step_the_agents_own_else_the_crews(mode: Mode):
    @tool
    def look(i: int) -> str:
        """Look at something."""
        return f"<{i}>"

    steps: list[tuple[str, Any]] = []

    def own(step: Any) -> None:
        steps.append(("agent", step))

    def crews(step: Any) -> None:
        steps.append(("crew", step))

    llm = ScriptedLLM([ToolUse("look", {"i": 1}, thought="Let me see."), "Thought: enough\nFinal Answer: done"])
    other = task("b", agent(ScriptedLLM(["too"]), "other"))
    mode.kickoff(crew(task("a", agent(llm, tools=[look], step_callback=own)), other, step_callback=crews))
    assert [(who, type(step)) for who, step in steps] == [
        ("agent", AgentAction),
        ("agent", AgentFinish),
        ("crew", AgentFinish),
    ]
    action, finish = steps[0][1], steps[1][1]
    assert (action.tool, action.tool_input, action.result, action.thought) == ("look", '{"i": 1}', "<1>", "Let me see.")
    assert (finish.output, finish.thought) == ("done", "enough")


def test_a_step_callback_that_raises_does_not_end_the_run(mode: Mode):
    def broken(step: Any) -> None:
        raise ValueError("no room")

    with pytest.warns(UserWarning, match="the step callback `broken` raised ValueError: no room; the run continues"):
        assert mode.kickoff(crew(task("a", agent(ScriptedLLM(["done"]), step_callback=broken)))).raw == "done"


def test_before_callbacks_may_change_the_inputs_replace_them_or_keep_them(mode: Mode):
    seen: list[Any] = []

    def changes(inputs: dict[str, Any]) -> None:
        inputs["topic"] = "snow"

    def replaces(inputs: dict[str, Any]) -> dict[str, Any]:
        return {**inputs, "year": 7}

    def needs_nothing() -> None:
        seen.append("called")

    llm = ScriptedLLM(["x"])
    made = crew(
        task("a", agent(llm), description="{topic} in {year}"),
        before_kickoff_callbacks=[changes, replaces, needs_nothing],
    )
    given = {"topic": "rain"}
    mode.kickoff(made, given)
    assert "snow in 7" in llm.requests[0].text
    assert seen == ["called"]
    assert given == {"topic": "rain"}
    assert made.inputs == {"topic": "snow", "year": 7}


def test_after_callbacks_may_replace_the_result_or_keep_it(mode: Mode):
    seen: list[str] = []

    def looks(output: CrewOutput) -> None:
        seen.append(output.raw)

    def shouts(output: CrewOutput) -> CrewOutput:
        return output.model_copy(update={"raw": output.raw.upper()})

    made = crew(task("a", agent(ScriptedLLM(["x"]))), after_kickoff_callbacks=[looks, shouts, looks])
    assert mode.kickoff(made).raw == "X"
    assert seen == ["x", "X"]


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt])
def test_an_async_callback_that_ends_the_program_ends_the_run_which_can_be_resumed(
    mode: Mode, end: type[BaseException]
):
    ends: list[type[BaseException]] = [end]

    async def callback(output: TaskOutput) -> None:
        if ends:
            raise ends.pop()

    worker = agent(ScriptedLLM(["x", "y"]))
    made = crew(task("a", worker, callback=callback), task("b", worker))
    with pytest.raises(end):
        mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t").raw == "y"


def test_blocking_functions_do_not_hold_up_the_event_loop():
    ticks: list[float] = []

    def callback(output: TaskOutput) -> None:
        wait_until(lambda: len(ticks) > 5)

    made = crew(task("a", agent(ScriptedLLM(["x"])), callback=callback))

    async def both() -> None:
        running = asyncio.create_task(made.akickoff())
        while not running.done():
            await asyncio.sleep(0.01)
            ticks.append(1)

    asyncio.run(both())
    assert len(ticks) > 5
