"""What models, tools and people wrote is printed as text: it cannot move the cursor, forge lines or reverse the writing."""

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import processes
import pytest
from cli.conftest import ROOT, Python, at_terminal

from crewgraph.text import json_text, printable, printable_line

WILD = "\x1b]0;owned\x07\x1b[2Jmid\rdle\x9b31m\u202eback\x7f\u2028end"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]")

WILD_TEAM = f"""
from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.flow import Flow, human_feedback, persist, start

WILD = {WILD!r}


def answer(messages):
    if "burst" in messages[-1]["content"]:
        raise ConnectionError(WILD)
    return "answer " + WILD


clerk = Agent(role="clerk " + WILD, goal="g", backstory="b", llm=ScriptedLLM(answer), max_retry_limit=0)


def crew(name="team " + WILD, human_input=False, description="do {{topic}}"):
    tasks = [
        Task(name="one " + WILD, description=description + WILD, expected_output=WILD, agent=clerk, human_input=human_input)
    ]
    return Crew(agents=[clerk], tasks=tasks, name=name, verbose=True, chat_llm=ScriptedLLM(answer))


def asking():
    return crew("asking " + WILD, human_input=True)


def bursting():
    return crew(description="burst {{topic}}")


def failing():
    raise RuntimeError(WILD)


@persist
class Post(Flow):
    @start()
    @human_feedback("Good? " + WILD, emit=["yes", "no"])
    def write(self):
        return "a letter " + WILD


if __name__ == "__main__":
    crew().kickoff({{"topic": "rain " + WILD}}, thread_id="a " + WILD)
    crew().kickoff({{"topic": "hail " + WILD}}, thread_id="b")
    asking().kickoff({{"topic": "fog"}}, thread_id="waiting")
    Post().kickoff({{"id": "flow"}})
"""

COMMANDS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("runs",), 0),
    (("runs", "--json"), 0),
    (("log-tasks-outputs", "b"), 0),
    (("log-tasks-outputs", "b", "--json"), 0),
    (("diff", f"a {WILD}", "b"), 0),
    (("diff", f"a {WILD}", "b", "--json"), 0),
    (("diff", "b", f"missing {WILD}"), 1),
    (("replay", "-t", "0", "b", "--target", "team.py:crew"), 0),
    (("replay", "-t", "0", "b", "--target", "team.py:crew", "--json"), 0),
    (("replay", "-t", "0", "b", "--target", "team.py:bursting"), 1),
    (("replay", "-t", "0", "b", "--target", "team.py:failing"), 1),
    (("approve",), 0),
    (("approve", "waiting", "--target", "team.py:asking"), 3),
    (("approve", "waiting", "--target", "team.py:asking", "--answer", f"longer {WILD}"), 3),
    (("approve", "flow", "--target", "team.py:Post"), 3),
    (("approve", f"missing {WILD}", "--target", "team.py:asking"), 1),
    (("test", "-n", "1", "--target", "team.py:bursting", "-i", "topic=rain"), 1),
    (("chat", "--target", "team.py:crew"), 0),
    (("reset-memories", "--all", "--target", "team.py:crew"), 0),
    (("check", f"missing {WILD}"), 2),
    (("migrate", f"missing {WILD}"), 2),
    (("eject", f"missing{WILD}.py:crew"), 2),
    (("eject", "--import", f"missing{WILD}.py:crew"), 1),
    (("run",), 0),
    (("where",), 0),
)


@pytest.fixture
def wild(python: Python, tmp_path: Path) -> Python:
    """Stored runs whose names, inputs, outputs and questions hold control characters."""
    (tmp_path / "team.py").write_text(WILD_TEAM, "utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.crewgraph]\ntarget = "team.py:asking"\n', "utf-8")
    ran = python("team.py")
    assert ran.returncode == 0 and not RAW.search(ran.stdout + ran.stderr), ran.stderr
    return python


def test_no_command_prints_a_control_character(wild: Python) -> None:
    failed: list[object] = []
    for arguments, code in COMMANDS:
        ran = wild("-m", "crewgraph", *arguments, stdin="hello\n" if arguments[0] == "chat" else "", PYTHONUTF8="1")
        found = RAW.search(ran.stdout + ran.stderr)
        if ran.returncode != code or found is not None:
            failed.append((arguments, ran.returncode, found, ran.stdout, ran.stderr))
    assert failed == []


def test_the_outputs_of_runs_are_shown_escaped_and_are_exact_as_json(wild: Python) -> None:
    shown = wild("-m", "crewgraph", "replay", "-t", "0", "b", "--target", "team.py:crew").stdout
    assert shown.endswith(r"answer \x1b]0;owned\x07\x1b[2Jmid\rdle\x9b31m\u202eback\x7f\u2028end" "\n")
    data = wild("-m", "crewgraph", "log-tasks-outputs", "b", "--json").stdout
    assert json.loads(data)["tasks"][0]["output"] == f"answer {WILD}"


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are Unix's")
def test_a_terminal_gets_no_control_character_but_those_of_columns_and_colors(wild: Python, tmp_path: Path) -> None:
    for arguments in (("runs",), ("log-tasks-outputs", "b"), ("diff", f"a {WILD}", "b"), ("approve",)):
        with at_terminal(tmp_path, *arguments, shows=True, TERM="xterm", PYTHONUTF8="1", COLUMNS="300") as (
            program,
            terminal,
        ):
            shown = b""
            with suppress(OSError):  # the other end is closed
                while part := os.read(terminal, 1 << 16):
                    shown += part
            assert program.wait(60) == 0, shown
        text = re.sub(r"\x1b\[[\d;]*m", "", shown.decode())  # rich's colors
        assert not RAW.search(text.replace("\r\n", "\n")), (arguments, text)
        assert "\\x1b]0;owned" in text or arguments == ("runs",), (arguments, text)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_below_standard_output_is_an_error_in_one_line(tmp_path: Path, unbuffered: str) -> None:
    (tmp_path / "crew.py").write_text("from crewai import Crew\n", "utf-8")
    for arguments in (["--version"], ["--help"], ["where"], ["check"], ["check", "--json"]):
        assert _ended_with("/dev/full", arguments, tmp_path, unbuffered) == (
            1,
            "Error: standard output cannot be written: No space left on device\n",
        ), arguments


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of Unix")
def test_a_reader_that_has_left_ends_a_command_quietly(tmp_path: Path) -> None:
    for arguments in (["--version"], ["--help"], ["where"]):
        read, write = os.pipe()
        os.close(read)
        try:
            assert _ended_with(write, arguments, tmp_path) == (1, ""), arguments
        finally:
            os.close(write)


def _ended_with(output: str | int, arguments: list[str], folder: Path, unbuffered: str = "") -> tuple[int, str]:
    """The exit code of a command, and what it writes to standard error."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "compat")])
    with open(output, "w", closefd=isinstance(output, str)) as stdout:
        ended = processes.run(
            [sys.executable, "-m", "crewgraph", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": unbuffered},
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=100,
        )
    return ended.returncode, ended.stderr


def test_a_text_is_shown_with_its_lines_and_letters() -> None:
    assert (
        printable("a\r\nb\tc é あ\u3000\u00a0👩\u200d👧 می\u200cخواهم")
        == "a\nb\tc é あ\u3000\u00a0👩\u200d👧 می\u200cخواهم"
    )
    assert printable("\x00\x1b\x7f\x85\u202e\u2066\u2029\ud800") == r"\x00\x1b\x7f\x85\u202e\u2066\u2029\ud800"
    assert printable_line("a\nb\tc\r\n") == r"a\nb\tc\n"
    data = {"a": "\x1b\x7f\x9b\u202e\U000e0041é\n"}
    assert json_text(data) == r'{"a": "\u001b\u007f\u009b\u202e\udb40\udc41é\n"}'
    assert json.loads(json_text(data, 2)) == data


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are Unix's")
@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 1)])
def test_eject_asks_at_a_terminal_before_it_imports(tmp_path: Path, answer: str, code: int) -> None:
    (tmp_path / "loud.py").write_text("from pathlib import Path\n\nPath('imported').touch()\ncrew = None\n", "utf-8")
    with at_terminal(tmp_path, "eject", "loud.py:crew", shows=True) as (program, terminal):
        shown = b""
        while b"Import it?" not in shown:
            shown += os.read(terminal, 1 << 16)
        assert not (tmp_path / "imported").exists()
        os.write(terminal, f"{answer}\n".encode())
        assert program.wait(60) == code
    assert (tmp_path / "imported").exists() == (answer == "y")
