"""The end of a task: output, callbacks, file, event; and failures."""

from pathlib import Path
from typing import Any

import pytest
from compiler.body_runner import agent, run_task, task
from pydantic import BaseModel

from crewgraph import ScriptedLLM, TaskOutput
from crewgraph.errors import OutputNotSaved


class Point(BaseModel):
    x: int


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


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


def test_the_usage_of_refused_attempts_and_conversions_is_a_part_of_the_output():
    model = ScriptedLLM(
        ["no json", '{"x": 1}', "better", '{"x": 2}'], usage={"prompt_tokens": 3, "completion_tokens": 1}
    )

    def judge(output: TaskOutput) -> tuple[bool, Any]:
        return output.raw == "better", "do better"

    run = run_task(task(agent("", llm=model), guardrail=judge, output_pydantic=Point))
    assert run.result["usage"]["successful_requests"] == 4
    assert run.result["usage"]["total_tokens"] == 16
