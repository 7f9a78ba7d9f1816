"""Errors that the specification names for tasks and sequential crews: their types, when they are raised, and what is stored."""

import logging
from pathlib import Path
from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel, ValidationError

from crewgraph import ConditionalTask, Crew, ScriptedLLM, Task, TaskOutput
from crewgraph.errors import StorageError
from crewgraph.events import CrewKickoffFailedEvent, TaskFailedEvent
from crewgraph.testing import record_events

from .parts import agent, asked, crew, task


class Town(BaseModel):
    name: str


def refuse(output: TaskOutput) -> tuple[bool, str]:
    return False, "never good enough"


def test_a_task_without_an_agent_is_an_exception_at_once(mode: Mode):
    one = Task(description="Count the boats", expected_output="e")
    with pytest.raises(Exception, match="`Count the boats` has no agent assigned"):
        mode.run(one.execute_sync, one.aexecute_sync)
    with pytest.raises(Exception, match="no agent assigned"):
        one.execute_async().result(10)
    with pytest.raises(ValidationError, match="task `Count the boats`: it has no agent"):
        Crew(agents=[agent(None)], tasks=[one])


def test_a_conversion_that_fails_asks_a_model_and_then_keeps_the_text(mode: Mode, caplog: pytest.LogCaptureFixture):
    model = ScriptedLLM(["in words", "no", "no", "no"])
    one = task("town", agent(model), output_pydantic=Town)
    with caplog.at_level(logging.WARNING):
        output = mode.kickoff(crew(one, checkpointer=False))
    assert (output.raw, output.pydantic, len(model.requests)) == ("in words", None, 4)
    assert "no structured output, the text is kept" in caplog.text


def test_a_guardrail_that_refuses_sends_back_as_often_as_allowed_then_raises(mode: Mode):
    model = ScriptedLLM(["a", "b", "c"])
    one = task("letter", agent(model), guardrail=refuse, guardrail_max_retries=2)
    with (
        record_events() as events,
        pytest.raises(Exception, match="failed guardrail validation after 2 retries. Last error: never"),
    ):
        mode.kickoff(crew(one, checkpointer=False))
    assert (len(model.requests), one.retry_count) == (3, 2)
    assert all("never good enough" in text for text in asked(model)[1:])
    assert [type(event) for event in events if isinstance(event, (TaskFailedEvent, CrewKickoffFailedEvent))] == [
        TaskFailedEvent,
        CrewKickoffFailedEvent,
    ]
    assert one.end_time is not None


@pytest.mark.parametrize(
    "fields", [{"output_file": "no/such.md", "create_directory": False}, {"output_file": "taken/x.md"}]
)
def test_a_file_that_cannot_be_written_is_a_runtime_error_that_holds_the_output(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file")
    one = task("report", agent(ScriptedLLM(["the report"])), **fields)
    with pytest.raises(RuntimeError, match="could not be written") as caught:
        mode.kickoff(crew(one, checkpointer=False))
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.output.raw == "the report"  # pyright: ignore[reportAttributeAccessIssue]
    assert one.output is not None and one.output.raw == "the report"


def test_whatever_fails_in_a_task_ends_it_is_told_and_reaches_the_caller(mode: Mode):
    one = task("letter", agent(ScriptedLLM([KeyError("gone")])))
    with record_events() as events, pytest.raises(KeyError, match="gone"):
        mode.kickoff(crew(one, checkpointer=False))
    assert [
        type(event).__name__
        for event in events
        if "Failed" in type(event).__name__ and "LLM" not in type(event).__name__
    ] == ["TaskFailedEvent", "CrewKickoffFailedEvent"]
    assert one.start_time is not None and one.end_time is not None and one.output is None


def test_a_crew_with_nothing_in_it_is_a_value_error():
    with pytest.raises(ValueError, match="neither agents nor tasks"):
        Crew()
    with pytest.raises(ValueError, match="neither agents nor tasks"):
        Crew(agents=[], tasks=[])


def test_a_crew_without_tasks_is_a_value_error_at_kickoff(mode: Mode):
    with pytest.raises(ValueError, match="the crew has no tasks"):
        mode.kickoff(Crew(agents=[agent(ScriptedLLM(["x"]))], checkpointer=False))


def test_a_sequential_crew_needs_no_list_of_the_agents_of_its_tasks(mode: Mode):
    worker = agent(ScriptedLLM(["first", "second"]))
    crew = Crew(tasks=[task("a", worker), task("b", worker)], checkpointer=False)
    assert [output.raw for output in mode.kickoff(crew).tasks_output] == ["first", "second"]


def test_a_missing_variable_is_a_value_error_before_anybody_works(mode: Mode):
    model = ScriptedLLM(["x"])
    with pytest.raises(ValueError, match="`description` of task `a` needs the input `topic`"):
        mode.kickoff(crew(task("a", agent(model), description="On {topic}"), checkpointer=False), {"other": 1})
    assert model.requests == []


def test_a_conditional_task_without_a_condition_is_a_value_error_that_names_it(mode: Mode):
    perhaps = ConditionalTask(description="perhaps", expected_output="e", agent=agent(ScriptedLLM([])))
    with pytest.raises(ValueError, match="`perhaps` has no condition"):
        perhaps.should_execute(TaskOutput(description="d", agent="a"))
    with pytest.raises(ValueError, match="`perhaps` has no condition"):
        mode.kickoff(crew(task("a", agent(ScriptedLLM(["x"]))), perhaps, checkpointer=False))


def test_a_storage_that_cannot_be_written_is_a_runtime_error(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "storage").write_text("a file where a folder should be")
    monkeypatch.setenv("CREWGRAPH_STORAGE_DIR", str(tmp_path / "storage"))
    with pytest.raises(StorageError) as caught:
        mode.kickoff(crew(task("a", agent(ScriptedLLM(["x"])))))
    assert isinstance(caught.value, RuntimeError)
