"""`crewgraph run` without a program runs the project in the current directory, like `crewai run`."""

import json
from pathlib import Path

import pytest
from cli.conftest import Python, python
from servers.openai_api import OpenAIServer

__all__ = ["python"]

RUN = ("-m", "crewgraph", "run")

CREW = """\
from crewai import Agent, Crew, Task
from crewai.project import CrewBase, agent, crew, task


@CrewBase
class Tides:
    @agent
    def pilot(self) -> Agent:
        return Agent(role="Pilot", goal="Know the tides", backstory="Careful.", llm="gpt-4o-mini")

    @task
    def look(self) -> Task:
        return Task(description="The tide in {port}", expected_output="A time", agent=self.pilot())

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks)
"""

MAIN = """\
import os
import sys

from tides.crew import Tides


def run():
    print(os.environ["PORT"], sys.argv[0], Tides().crew().kickoff(inputs={"port": os.environ["PORT"]}))


def kickoff():
    print("kicked off")
    return "no exit code"


def failing():
    raise ValueError("aground")
"""


def project(folder: Path, described: str) -> None:
    """A project as CrewAI's command makes it, with a package under `src`."""
    package = folder / "src" / "tides"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "crew.py").write_text(CREW)
    (package / "main.py").write_text(MAIN)
    (folder / ".env").write_text("PORT=Brest\n")
    (folder / "pyproject.toml").write_text(f'[project]\nname = "tides"\n{described}')


def test_a_crew_is_begun_by_its_script_with_what_its_env_file_says(python: Python, tmp_path: Path):
    project(tmp_path, '[project.scripts]\nrun_crew = "tides.main:run"\n[tool.crewai]\ntype = "crew"\n')
    with OpenAIServer(lambda asked: "at noon" if "Brest" in str(asked.body["messages"]) else "?") as server:
        done = python(*RUN, OPENAI_API_KEY="key", OPENAI_BASE_URL=server.url, OPENAI_API_BASE=server.url)
    assert (done.returncode, done.stdout) == (0, "Brest run_crew at noon\n"), done.stderr


BEGINNINGS = {
    '[project.scripts]\nkickoff = "tides.main:kickoff"\nrun_crew = "tides.main:failing"\n[tool.crewai]\ntype = "flow"\n': 0,
    '[tool.poetry.scripts]\nkickoff = "tides.main:kickoff"\n': 0,
    '[project.scripts]\nrun_crew = "tides.main:failing"\n': 1,
    '[project.scripts]\ntides = "tides.main:kickoff"\n': 0,
    '[project.scripts]\nTides = "tides.main:kickoff"\n[tool.crewgraph]\ntarget = "nowhere:nothing"\n': 0,
    '[tool.crewai]\ntype = "flow"\n': 0,
    '[project.scripts]\nrun_crew = "tides.main:kickoff"\n[tool.crewgraph]\ntarget = "nowhere:nothing"\n': 0,
}


@pytest.mark.parametrize("described", BEGINNINGS)
def test_the_script_is_that_of_what_the_project_is(python: Python, tmp_path: Path, described: str):
    project(tmp_path, described)
    done = python(*RUN)
    assert done.returncode == BEGINNINGS[described], done.stderr
    if not done.returncode:
        assert done.stdout == "kicked off\n"
    else:
        assert done.stderr.endswith("ValueError: aground\n") and "crewgraph/cli" not in done.stderr


def test_the_target_of_a_project_is_kicked_off_and_its_result_printed(python: Python, tmp_path: Path):
    (tmp_path / "trip.py").write_text(
        "from crewai.flow.flow import Flow, start\n\n\nclass Trip(Flow):\n    @start()\n    def go(self):\n        return 1\n"
    )
    (tmp_path / "pyproject.toml").write_text('[tool.crewgraph]\ntarget = "trip.py:Trip"\n')
    done = python(*RUN)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_a_flow_that_a_file_declares_is_run_and_its_result_printed(python: Python, tmp_path: Path):
    project(tmp_path, '[tool.crewai]\ntype = "flow"\ndefinition = "src/tides/flow.json"\n')
    flow = {
        "schema": "crewai.flow/v1",
        "name": "Tides",
        "state": {"type": "dict", "default": {"port": "Brest"}},
        "methods": {"start": {"start": True, "do": {"call": "expression", "expr": "state.port"}}},
    }
    (tmp_path / "src" / "tides" / "flow.json").write_text(json.dumps(flow))
    done = python(*RUN)
    assert (done.returncode, done.stdout) == (0, "Brest\n"), done.stderr


def test_a_crew_in_json_is_run_and_its_result_printed(python: Python, tmp_path: Path):
    (tmp_path / "agents").mkdir()
    pilot = {"role": "Pilot", "goal": "Know", "backstory": "Careful.", "llm": "gpt-4o-mini"}
    (tmp_path / "agents" / "pilot.jsonc").write_text(json.dumps(pilot))
    look = {"name": "look", "description": "The tide in {port}", "expected_output": "A time", "agent": "pilot"}
    crew = {"name": "tides", "agents": ["pilot"], "tasks": [look], "inputs": {"port": "Brest"}}
    (tmp_path / "crew.jsonc").write_text(json.dumps(crew))
    for described in ("", '[tool.crewai]\ntype = "crew"\ndefinition = "crew.jsonc"\n'):
        (tmp_path / "pyproject.toml").write_text(described)
        with OpenAIServer(lambda asked: "at noon" if "Brest" in str(asked.body["messages"]) else "?") as server:
            done = python(*RUN, OPENAI_API_KEY="key", OPENAI_BASE_URL=server.url, OPENAI_API_BASE=server.url)
        assert (done.returncode, done.stdout) == (0, "at noon\n"), done.stderr


def test_what_cannot_be_read_is_reported(python: Python, tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text("[project")
    done = python(*RUN)
    assert done.returncode == 2
    assert done.stderr.startswith(f"Error: cannot read `{tmp_path / 'pyproject.toml'}`: ")
    project(tmp_path, '[project.scripts]\nrun_crew = "tides.main:run"\n')
    (tmp_path / ".env").write_text("what is this\n")
    done = python(*RUN)
    assert done.returncode == 2 and ".env" in done.stderr and "Traceback" not in done.stderr


def test_another_script_of_the_project_is_run_by_its_name_with_its_arguments(python: Python, tmp_path: Path):
    scripts = '[project.scripts]\nrun_crew = "tides.main:failing"\nwith_trigger = "tides.main:triggered"\n'
    project(tmp_path, scripts)
    main = tmp_path / "src/tides/main.py"
    main.write_text(f"{MAIN}\n\ndef triggered():\n    print(sys.argv[1:], os.environ['PORT'])\n")
    done = python(*RUN, "with_trigger", "7")
    assert (done.returncode, done.stdout) == (0, "['7'] Brest\n"), done.stderr
    unknown = python(*RUN, "with_triger")
    assert unknown.returncode == 2
    assert unknown.stderr == (
        f"Error: there is no file `with_triger` in `{tmp_path}`, and no script of that name in `pyproject.toml`, which has "
        "`run_crew`, `with_trigger`.\n"
    )
    (tmp_path / "with_trigger").write_text("print('the file')\n")
    assert python(*RUN, "with_trigger").stdout == "the file\n"
