"""The end of a task: output, callbacks, file, event; and failures."""

from pathlib import Path
from typing import Any

import pytest
from compiler.body_runner import agent, run_task, task
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from pydantic import BaseModel

from crewgraph import Crew, ScriptedLLM, Task, TaskOutput
from crewgraph.errors import OutputNotSaved
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.task import TaskFailedEvent


class Point(BaseModel):
    x: int


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def crew_of(worked_on: Task, **fields: Any) -> Crew:
    assert worked_on.agent is not None
    given: dict[str, Any] = {"agents": [worked_on.agent], "tasks": [worked_on], "checkpointer": False, **fields}
    return Crew(**given)


def written(path: str) -> str:
    return Path(path).read_text("utf-8")


def test_the_task_shows_what_happened():
    worked_on = task(agent("42"))
    run_task(worked_on)
    assert worked_on.output is not None
    assert (worked_on.output.raw, worked_on.output.name) == ("42", "Count the files")
    assert worked_on.processed_by_agents == {"Clerk"}
    assert worked_on.prompt_context == ""
    assert worked_on.execution_duration is not None
    assert worked_on.execution_duration >= 0


# ---------------------------------------------------------------------------------------------------- files
@pytest.mark.parametrize(
    ("fields", "text"),
    [({}, '{"x": 1}'), ({"output_json": Point}, '{\n  "x": 1\n}'), ({"output_pydantic": Point}, '{"x":1}')],
)
def test_a_file_holds_the_text_or_the_structure(fields: dict[str, Any], text: str):
    run_task(task(agent('{"x": 1}'), output_file="new/folder/out.json", **fields))
    assert written("new/folder/out.json") == text


def test_the_task_shows_the_path_it_was_written_to_and_keeps_the_template():
    worked_on = task(agent("42"), output_file="out/{topic}.md")
    run_task(worked_on, {"inputs": {"topic": "rain"}})
    assert (worked_on.output_file, worked_on.template("output_file")) == ("out/rain.md", "out/{topic}.md")


def test_create_directory_false_makes_no_folder_and_the_failure_carries_the_output():
    with pytest.raises(OutputNotSaved, match="could not be written to `new/out.md`") as caught:
        run_task(task(agent("42"), output_file="new/out.md", create_directory=False))
    assert caught.value.output.raw == "42"
    assert isinstance(caught.value, RuntimeError)
    assert not Path("new").exists()


# ------------------------------------------------------------------------------------------- what fails, later
def test_a_failed_save_keeps_the_output_and_resume_repeats_only_the_save(mode: Mode):
    worked_on = task(agent("42"), output_file="new/out.md", create_directory=False)
    crew = crew_of(worked_on, checkpointer=InMemorySaver())
    with pytest.raises(OutputNotSaved):
        mode.kickoff(crew, thread_id="1")
    Path("new").mkdir()
    assert mode.resume(crew, "1").raw == "42"
    assert written("new/out.md") == "42"
    assert worked_on.agent is not None
    assert len(worked_on.agent.llm.requests) == 1


def test_resume_repeats_only_the_failed_callback(mode: Mode):
    events: list[str] = []

    def callback(output: TaskOutput) -> None:
        events.append(output.raw)
        if len(events) == 1:
            raise RuntimeError("the line was busy")

    worked_on = task(agent("42"), callback=callback)
    crew = crew_of(worked_on, checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="the line was busy"):
        mode.kickoff(crew, thread_id="1")
    assert mode.resume(crew, "1").raw == "42"
    assert events == ["42", "42"]
    assert worked_on.agent is not None
    assert len(worked_on.agent.llm.requests) == 1


def test_resume_repeats_a_guardrail_that_failed(mode: Mode):
    asked: list[str] = []

    def judge(output: TaskOutput) -> tuple[bool, Any]:
        asked.append(output.raw)
        if len(asked) == 1:
            raise ConnectionError("no line")
        return True, output

    worked_on = task(agent("42"), guardrail=judge)
    crew = crew_of(worked_on, checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        mode.kickoff(crew, thread_id="1")
    assert mode.resume(crew, "1").raw == "42"
    assert asked == ["42", "42"]
    assert worked_on.agent is not None
    assert len(worked_on.agent.llm.requests) == 1


def test_a_failure_ends_the_task_and_emits_events(mode: Mode):
    events: list[str] = []
    worked_on = task(agent(ConnectionError("no line")))
    with crewai_event_bus.scoped_handlers():
        crewai_event_bus.register_handler(TaskFailedEvent, lambda source, event: events.append(event.error))
        with pytest.raises(ConnectionError, match="no line"):
            mode.kickoff(crew_of(worked_on))
    assert events == ["task `Count the files` of agent `Clerk`: ConnectionError: no line"]
    assert (worked_on.end_time is not None, worked_on.output) == (True, None)


def test_the_usage_of_refused_attempts_and_conversions_is_a_part_of_the_output():
    model = ScriptedLLM(
        ["no json", '{"x": 1}', "better", '{"x": 2}'], usage={"prompt_tokens": 3, "completion_tokens": 1}
    )

    def judge(output: TaskOutput) -> tuple[bool, Any]:
        return output.raw == "better", "do better"

    run = run_task(task(agent("", llm=model), guardrail=judge, output_pydantic=Point))
    assert run.result["usage"]["successful_requests"] == 4
    assert run.result["usage"]["total_tokens"] == 16
