"""Programs written for older CrewAIs, run as their users run them: they work, and what is to be written instead is told once."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from servers.openai_api import Answer, OpenAIServer, Request, call

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
WARNING = re.compile(
    r"^(?P<file>\S+):(?P<line>\d+): (?:Outdated|UnknownKeyword|WithoutEffect): (?P<told>.*)$", re.MULTILINE
)


def marked(mark: str, text: str) -> list[str]:
    """The lines of a program's own comments that tell what is to come: `#> printed`, `#! warned of`, `#= a model's answer`."""
    return [line.removeprefix(mark).strip() for line in text.splitlines() if line.startswith(mark)]


def answered(request: Request) -> Answer | str:
    """A model that calls the first tool it is offered, once, and tells what the tool said."""
    messages: list[dict[str, Any]] = request.body["messages"]
    said = [message for message in messages if message["role"] == "tool"]
    if said:
        return f"the tool said: {said[-1]['content']}"
    tools: list[dict[str, Any]] = request.body.get("tools") or []
    if not tools:
        return "high water at noon"
    function = tools[0]["function"]
    return call(function["name"], {name: "x" for name in function["parameters"].get("required", [])})


@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.stem)
def test_an_older_program_runs_and_is_told_what_to_write(program: Path, tmp_path: Path):
    text = program.read_text()
    (tmp_path / "main.py").write_text(text)
    with OpenAIServer(marked("#=", text) or answered) as server:
        done = processes.run(
            [sys.executable, "-m", "crewgraph", "run", "main.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=250,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "compat")]),
                "OPENAI_API_KEY": "key",
                "OPENAI_API_BASE": server.url,
            },
        )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    assert [line for line in printed if line in marked("#>", text)] == marked("#>", text), done.stdout + done.stderr
    warned = [(Path(one["file"]).name, one["told"]) for one in WARNING.finditer(done.stderr)]
    reported, expected = [line for _, line in warned], marked("#!", text)
    assert len(reported) == len(expected) and all(any(one in line for line in reported) for one in expected), (
        done.stderr
    )
    assert {file for file, _ in warned} <= {"main.py"}
