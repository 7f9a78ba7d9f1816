"""`crewgraph train` and `crewgraph test`."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from cli.conftest import Python, at_terminal

_TEAM = """
import json
from crewgraph import Agent, Crew, ScriptedLLM, Task

def reply(messages):
    last = str(messages[-1]["content"])
    if "The agent:" in last:
        return json.dumps({"suggestions": ["s"], "quality": 7, "final_summary": "s"})
    if "The expected result" in last:
        return json.dumps({"quality": 8, "reasons": "fine"})
    return last.partition("say ")[2].partition("\\n")[0] or "better"

by = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(reply))
crew = Crew(agents=[by], tasks=[Task(name="talk", description="say {word}", expected_output="x", agent=by)])
"""


@pytest.fixture(autouse=True)
def team(tmp_path: Path) -> None:
    (tmp_path / "team.py").write_text(_TEAM)


def test_a_crew_is_tested(python: Python):
    ran = python("-m", "crewgraph", "test", "-n", "2", "--target", "team.py:crew", "-i", "word=hello")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "talk" in ran.stdout and "8.0" in ran.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_crew_is_trained_at_a_terminal(tmp_path: Path):
    options = ("-n", "1", "-f", "x.pkl", "--target", "team.py:crew", "--inputs", '{"word": "hello"}')
    with at_terminal(tmp_path, "train", *options) as (process, terminal):
        os.write(terminal, b"louder\n")
        printed, errors = (text.decode() for text in process.communicate(timeout=250))
    assert "hello" in printed and "training saved to x.json" in printed
    assert "x.json" in errors
    saved = json.loads((tmp_path / "x.json").read_text())
    assert saved["training"]["feedback"][0]["human_feedback"] == "louder"


def test_a_pipe_with_too_few_lines_ends_a_training_which_continues_with_its_file(python: Python, tmp_path: Path):
    command = ("-m", "crewgraph", "train", "-n", "2", "-f", "x.json", "--target", "team.py:crew", "-i", "word=hello")
    ran = python(*command, stdin="louder\n")
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1] == (
        "the feedback so far is in `x.json`; training again with this file continues from there"
    )
    assert python(*command, stdin="faster\n").returncode == 0
    saved = json.loads((tmp_path / "x.json").read_text())
    assert [item["human_feedback"] for item in saved["training"]["feedback"]] == ["louder", "faster"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(("ends", "code"), [("Ctrl-C", 130), ("Ctrl-D", 1)])
def test_a_training_that_is_left_says_how_to_continue(tmp_path: Path, ends: str, code: int):
    options = ("-n", "1", "-f", "x.json", "--target", "team.py:crew", "-i", "word=a")
    with at_terminal(tmp_path, "train", *options) as (process, terminal):
        assert process.stdout is not None
        shown = b""
        while b"> " not in shown:
            shown += os.read(process.stdout.fileno(), 1000)
        if ends == "Ctrl-C":
            time.sleep(0.5)
            while process.poll() is None:  # a signal just before the read is only seen at the next line
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(30)
        else:
            os.write(terminal, b"\x04")
        _, errors = process.communicate(timeout=250)
    assert process.returncode == code and b"Traceback" not in errors
    assert b"resume" not in errors  # the rounds are the training's, which continues with its file
    assert errors.decode().splitlines()[-1] == (
        "the feedback so far is in `x.json`; training again with this file continues from there"
    )


@pytest.mark.parametrize(("command", "arguments"), [("test", "3 MODEL"), ("train", "5 trained_agents_data.json")])
def test_a_crew_that_needs_inputs_is_not_run_without(python: Python, tmp_path: Path, command: str, arguments: str):
    run = ("-m", "crewgraph", command, "--target", "team.py:crew")
    missing = "Error: the crew needs inputs, and none were given: `word`. Pass `--inputs word=...`, or "
    braces = "leave the braces in the texts with `--inputs '{}'`.\n"
    assert python(*run).stderr == missing + braces
    (tmp_path / "pyproject.toml").write_text(f'[project.scripts]\n{command} = "main:{command}"\n')
    script = f"use the inputs of the project's script with `crewgraph run {command} {arguments}`, or "
    assert python(*run).stderr == missing + script + braces


def test_a_crew_that_prepares_its_inputs_is_tested_without(python: Python, tmp_path: Path):
    (tmp_path / "ready.py").write_text(
        "from team import crew\ncrew.before_kickoff_callbacks = [lambda inputs: {'word': 'hello'}]\n"
    )
    ran = python("-m", "crewgraph", "test", "-n", "1", "--target", "ready.py:crew")
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["train", "--target", "team.py:crew", "-i", "word=hello"], "the input ended"),
        (["train", "-n", "0", "--target", "team.py:crew"], "Invalid value for '-n'"),
        (["test", "-n", "0", "--target", "team.py:crew"], "Invalid value for '-n'"),
        (["test", "--target", "team.py:crew", "-i", "word=hello", "-m", "nobody/knows"], "nobody/knows"),
        (["test", "--target", "team.py:crew", "-i", "word"], "expected `name=value`"),
        (["test", "--target", "team.py:crew", "-i", "{word"], "not valid JSON"),
        (["test", "--target", "team.py:crew", "-i", "other=1"], "word"),
    ],
)
def test_what_cannot_be_done_is_reported_without_a_traceback(python: Python, command: list[str], message: str):
    ran = python("-m", "crewgraph", *command)
    assert ran.returncode != 0
    assert message in ran.stderr and "Traceback" not in ran.stderr
