"""Tasks and agents that run outside of a crew, and overridden methods inside of one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from modes import Mode

from crewgraph import Agent, BaseAgent, ScriptedLLM, Task, TaskOutput
from crewgraph.errors import RunError
from crewgraph.events import TaskCompletedEvent, TaskStartedEvent
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events
from runtime.parts import agent, asked, crew, task


def executed(mode: Mode, one: Task, *given: Any) -> TaskOutput:
    return mode.run(one.execute_sync, one.aexecute_sync, *given)


def test_a_task_is_executed_on_its_own(mode: Mode):
    one = task("lone", agent(ScriptedLLM(["done"])))
    with record_events() as events:
        output = executed(mode, one)
    assert output.raw == "done" and one.output == output and output.agent == "worker"
    assert output.usage.successful_requests == 1 and one.execution_duration is not None
    assert [type(event) for event in events if isinstance(event, (TaskStartedEvent, TaskCompletedEvent))] == [
        TaskStartedEvent,
        TaskCompletedEvent,
    ]


def test_agent_context_and_tools_may_be_given(mode: Mode):
    model = ScriptedLLM(["done"])
    one = Task(description="d", expected_output="e")

    def search(what: str) -> str:
        """Look something up."""
        return what

    executed(mode, one, agent(model, "stand-in"), "the sea is calm", [search])
    assert "the sea is calm" in asked(model)[0]
    assert "search" in str(model.requests[0].messages[0]["content"])


def test_a_task_without_an_agent_says_so(mode: Mode):
    with pytest.raises(RunError, match="task `d` has no agent assigned"):
        executed(mode, Task(description="d", expected_output="e"))


def test_the_future_of_a_task_holds_its_exception():
    def refuse(_: TaskOutput) -> tuple[bool, str]:
        return False, "never"

    one = task("lone", agent(ScriptedLLM(["no"])), guardrail=refuse, guardrail_max_retries=0)
    error = one.execute_async().exception(10)
    assert error is not None and "failed guardrail validation after 0 retries. Last error: never" in str(error)


def test_an_agent_answers_a_task(mode: Mode):
    model = ScriptedLLM(["the answer"])
    worker = agent(model)

    def refuse(_: TaskOutput) -> tuple[bool, str]:
        return False, "not asked"

    one = Task(description="d", expected_output="e", guardrail=refuse)
    assert mode.run(worker.execute_task, worker.aexecute_task, one, "the sea is calm") == "the answer"
    assert "the sea is calm" in asked(model)[0] and one.output is None


class Shouting(Agent):
    """Calls ours, and changes what it gives."""

    def execute_task(self, task: Task, context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        return super().execute_task(task, f"{context} loud".strip(), tools).upper()


def test_an_agents_own_version_is_called_by_the_graph(mode: Mode):
    model = ScriptedLLM(["one", "two"])
    loud = Shouting(role="r", goal="g", backstory="b", llm=model)
    output = mode.kickoff(crew(task("first {n}", loud, description="do {n}"), task("second", loud)), {"n": "7"})
    assert [one.raw for one in output.tasks_output] == ["ONE", "TWO"]
    assert "do 7" in asked(model)[0] and "ONE loud" in asked(model)[1]
    assert output.token_usage.successful_requests == 2 and output.tasks_output[0].usage.successful_requests == 1


class Counting(Task):
    """Notes what it is called with, and calls ours."""

    def execute_sync(
        self, agent: BaseAgent | None = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> TaskOutput:
        output = super().execute_sync(agent, context, tools)
        return output.model_copy(
            update={"raw": f"{output.raw} ({agent.role if agent else None}, {context!r}, {tools})"}
        )


def test_a_tasks_own_version_is_called_by_the_graph(mode: Mode, tmp_path: Path):
    worker = agent(ScriptedLLM(["one", "two"]))
    mine = Counting(name="mine", description="do {n}", expected_output="e", agent=worker)
    with record_events() as events, SqliteCheckpointer(tmp_path / "runs.db") as saver:
        output = mode.kickoff(crew(task("first", worker), mine), {"n": 7}, checkpointer=saver)
    assert output.raw == "two (worker, 'one', [])" and output.tasks_output[1].description == "do 7"
    assert mine.output is not None and mine.output.raw == output.raw
    assert sum(isinstance(event, TaskCompletedEvent) for event in events) == 2
    assert output.token_usage.successful_requests == 2
