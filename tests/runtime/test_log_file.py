"""`output_log_file`: each task's start and completion in a file."""

import asyncio
import json
import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from modes import Mode

import crewgraph
from crewgraph import Crew, ScriptedLLM

from .parts import agent, by_prompt, crew, task


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def logging_crew(file: bool | str, **more: Any) -> Crew:
    worker = agent(ScriptedLLM(by_prompt), role="worker {x}")
    first = task("first", worker, description="say {x}")
    second = task("second", worker, description="say done")
    second.name = None
    return crew(first, second, output_log_file=file, **more)


def entries(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text("utf-8"))


def test_lines_tell_when_which_task_begins_and_ends(mode: Mode, folder: Path):
    mode.kickoff(logging_crew("run.txt"), {"x": "one"})
    lines = (folder / "run.txt").read_text("utf-8").splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d: ", line) for line in lines)
    assert [line[21:] for line in lines] == [
        'task_name="first", task="say one", agent="worker one", status="started"',
        'task_name="first", task="say one", agent="worker one", status="completed", output="one"',
        'task_name="None", task="say done", agent="worker one", status="started"',
        'task_name="None", task="say done", agent="worker one", status="completed", output="done"',
    ]


def test_an_entry_is_one_line_whatever_its_texts_say(mode: Mode, folder: Path):
    forged = 'one"\n2026-01-01 00:00:00: task_name="second", status="completed"\r\x1b[2J\u202e\u2028end\\'
    mode.kickoff(logging_crew("run.txt"), {"x": forged})
    lines = (folder / "run.txt").read_text("utf-8").splitlines()
    assert len(lines) == 4 and all(line.isprintable() for line in lines)
    said = r"say one\"\n2026-01-01 00:00:00: task_name=\"second\", status=\"completed\"\r\u001b[2J\u202e\u2028end\\"
    assert f'task="{said}", agent=' in lines[0]
    mode.kickoff(logging_crew("run.json"), {"x": forged})
    assert entries(folder / "run.json")[0]["task"] == f"say {forged}"
    assert all(line.isprintable() for line in (folder / "run.json").read_text("utf-8").split("\n"))


@pytest.mark.skipif(sys.platform == "win32", reason="modes are Unix's")
def test_only_its_owner_reads_a_log_that_is_created(folder: Path):
    before = os.umask(0)
    try:
        for name in ("logs/run.txt", "logs/run.json"):
            logging_crew(name).kickoff({"x": "one"})
            assert (folder / name).stat().st_mode & 0o777 == 0o600
        assert (folder / "logs").stat().st_mode & 0o777 == 0o700
        (folder / "shared.txt").touch(mode=0o644)
        logging_crew("shared.txt").kickoff({"x": "one"})
        assert (folder / "shared.txt").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


def test_a_json_file_is_a_list_of_objects(mode: Mode, folder: Path):
    mode.kickoff(logging_crew("run.json"), {"x": 'a "quote"\u00fc'})
    first = entries(folder / "run.json")[1]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", first.pop("timestamp"))
    assert first == {
        "task_name": "first", "task": 'say a "quote"\u00fc', "agent": 'worker a "quote"\u00fc',
        "status": "completed", "output": 'a "quote"\u00fc',
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wish", "name"),
    [(True, "logs.txt"), ("a.txt", "a.txt"), ("a.json", "a.json"), ("a.log", "a.log.txt"), ("a", "a.txt")],
)
def test_the_name_says_the_form(folder: Path, wish: bool | str, name: str):
    logging_crew(wish).kickoff({"x": "one"})
    assert [path.name for path in folder.iterdir()] == [name]


def test_parallel_tasks_and_runs_lose_no_entry(mode: Mode, folder: Path):
    worker = agent(ScriptedLLM(by_prompt))
    beside = [task(f"t{n}", worker, description="say {x}", async_execution=True) for n in range(8)]
    made = crew(*beside, task("last", worker, description="say end"), output_log_file="run.json", checkpointer=False)
    inputs = [{"x": n} for n in range(5)]
    if mode.asynchronous:
        asyncio.run(made.akickoff_for_each(inputs))
    else:
        made.kickoff_for_each(inputs, max_concurrency=5)
    found = entries(folder / "run.json")
    assert len(found) == 5 * 9 * 2
    completed = [one["output"] for one in found if one["status"] == "completed"]
    assert {text: completed.count(text) for text in completed} == {"0": 8, "1": 8, "2": 8, "3": 8, "4": 8, "end": 5}


PROGRAM = """
import sys
from crewgraph import Agent, Crew, ScriptedLLM, Task
worker = Agent(role="w", goal="g", backstory="b", llm=ScriptedLLM(lambda messages: "x" * 200))
tasks = [Task(description=f"t{n}", expected_output="e", agent=worker) for n in range(20)]
Crew(agents=[worker], tasks=tasks, output_log_file="shared.json", checkpointer=False).kickoff()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there")
def test_processes_may_share_a_file(folder: Path):
    surroundings = {**os.environ, "PYTHONPATH": str(Path(crewgraph.__file__).parents[1])}
    started = [processes.Popen([sys.executable, "-c", PROGRAM], env=surroundings) for _ in range(3)]
    assert [process.wait(250) for process in started] == [0, 0, 0]
    assert len(entries(folder / "shared.json")) == 3 * 20 * 2


@pytest.mark.parametrize("has_started", ["not json", '{"a": []}', "[1]", '["x"]'])
def test_a_file_of_something_else_is_left_alone_and_reported_once(
    folder: Path, has_started: str, caplog: pytest.LogCaptureFixture
):
    path = folder / "run.json"
    path.write_text(has_started, "utf-8")
    with caplog.at_level(logging.WARNING, logger="crewgraph"):
        assert logging_crew("run.json").kickoff({"x": "one"}).raw == "done"
    assert path.read_text("utf-8") == has_started
    assert [record.getMessage() for record in caplog.records] == [
        f"Could not write to the log file `{path}`; the run continues: the file exists and does not contain a list of objects"
    ]


def test_what_cannot_be_written_costs_no_work(mode: Mode, folder: Path, caplog: pytest.LogCaptureFixture):
    (folder / "run.txt").mkdir()
    with caplog.at_level(logging.WARNING, logger="crewgraph"):
        assert mode.kickoff(logging_crew("run.txt"), {"x": "one"}).raw == "done"
    assert len(caplog.records) == 1


def test_secrets_of_the_environment_are_covered(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret")
    logging_crew("run.txt").kickoff({"x": "sk-very-secret"})
    text = (folder / "run.txt").read_text("utf-8")
    assert "sk-very-secret" not in text and 'output="***"' in text
