"""`crewgraph reset-memories`."""

from pathlib import Path

import pytest
from cli.conftest import Python

_TEAM = """
from crewgraph import Agent, Crew, ScriptedLLM, Task

by = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(lambda messages: "three boats at Bonn"))
crew = Crew(agents=[by], tasks=[Task(description="look at Bonn", expected_output="x", agent=by)], memory=True)
"""

_LOOK = """
import sys
from team import crew
if "run" in sys.argv:
    crew.kickoff()
short, long = crew.short_term_memory.search("boats", score_threshold=0), crew.long_term_memory.search("look at Bonn")
print(len(short), len(long))
"""


@pytest.fixture(autouse=True)
def team(tmp_path: Path) -> None:
    (tmp_path / "team.py").write_text(_TEAM)
    (tmp_path / "look.py").write_text(_LOOK)


def reset(python: Python, *options: str) -> str:
    ran = python("-m", "crewgraph", "reset-memories", *options, "--target", "team.py:crew")
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_what_is_named_is_deleted_and_nothing_else(python: Python):
    assert python("look.py", "run").stdout == "1 1\n"
    assert reset(python, "-s") == "deleted: short\n"
    assert python("look.py").stdout == "0 1\n"
    assert reset(python, "--long", "-e", "-k") == "deleted: long\ndeleted: entity\nnothing to delete: kickoff_outputs\n"
    assert python("look.py").stdout == "0 0\n"


@pytest.mark.parametrize("option", ["-a", "--memory"])
def test_everything_is_deleted_at_once(python: Python, option: str):
    python("look.py", "run")
    assert reset(python, option).startswith("deleted: ")
    assert python("look.py").stdout == "0 0\n"


def test_it_asks_what_to_delete(python: Python):
    ran = python("-m", "crewgraph", "reset-memories", "--target", "team.py:crew")
    assert ran.returncode == 2
    assert "nothing is selected; pass `--short`" in ran.stderr.replace("\n", " ")
