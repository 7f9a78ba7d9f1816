"""Loading the target of a command."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import crewgraph_compat
import pytest
from pytest import MonkeyPatch

from crewgraph.cli.target import load_crew_target, load_target, project_target
from crewgraph.errors import RunError

_PROGRAM = """
from crewai import Agent, Crew, Task
from crewai.flow.flow import Flow, start

def crew():
    agent = Agent(role="A", goal="g", backstory="b")
    return Crew(name="found", agents=[agent], tasks=[Task(description="d", expected_output="e", agent=agent)])

made = crew()

class Trip(Flow):
    @start()
    def go(self):
        return 1

class Base:
    def crew(self):
        return crew()

class Asks(Base):
    def __init__(self, port):
        self.port = port
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "teams_of_test.py").write_text(_PROGRAM)
    yield tmp_path
    crewgraph_compat.uninstall()
    sys.modules.pop("teams_of_test", None)


@pytest.mark.parametrize("name", ["crew", "made", "Base"])
@pytest.mark.parametrize("module", ["teams_of_test.py", "teams_of_test"])
def test_a_crew_is_an_object_a_function_or_a_crew_base(module: str, name: str):
    assert load_crew_target(f"{module}:{name}").name == "found"


def test_what_a_block_of_a_program_defines_is_found_without_the_runs_in_it(project: Path):
    program = (
        _PROGRAM
        + """
from contextlib import nullcontext

with nullcontext([]) as tools:
    within = crew()
    within.name = str(within.kickoff())
try:
    tried = crew()
    answer = tried.kickoff()
    print(answer.raw)
except ValueError:
    tried = None
if (ran := made.kickoff()).raw:
    chosen = crew()
"""
    )
    (project / "teams_of_test.py").write_text(program)
    for name in ("within", "tried"):
        assert load_target(f"teams_of_test.py:{name}", is_run=False).name == "found"
    with pytest.raises(RunError, match="has no attribute `chosen` without what it runs"):
        load_target("teams_of_test.py:chosen", is_run=False)


def test_a_flow_is_found_by_its_class():
    assert type(load_target("teams_of_test:Trip")).__name__ == "Trip"


def test_a_file_may_declare_the_crew_or_flow_of_the_project(project: Path):
    asker = {"role": "A", "goal": "g", "backstory": "b"}
    (project / "agents").mkdir()
    (project / "agents" / "asker.jsonc").write_text(json.dumps(asker))
    ask = {"name": "ask", "description": "d", "expected_output": "e", "agent": "asker"}
    (project / "crew.jsonc").write_text(json.dumps({"name": "told", "agents": ["asker"], "tasks": [ask]}))
    assert load_crew_target(None).name == "told"
    (project / "trip.yaml").write_text("name: Trip\nmethods: {go: {start: true, do: {call: expression, expr: '1'}}}\n")
    (project / "pyproject.toml").write_text('[tool.crewai]\ntype = "flow"\ndefinition = "trip.yaml"\n')
    assert load_target(None).kickoff() == 1


def test_the_project_names_its_own(project: Path):
    (project / "pyproject.toml").write_text('[tool.crewgraph]\ntarget = "teams_of_test:made"\n')
    assert load_crew_target(None).name == "found"


PROJECTS = {
    "from crewai.project import CrewBase\n\n@CrewBase\nclass Tides:\n    pass\n": "Tides",
    "from crewai import Crew\n\ncrew = Crew(tasks=[])\n": "crew",
    "from crewai import Crew\n\ndef build(name=None):\n    crew = Crew(tasks=[])\n    return crew\n": "build",
    "import crewai\n\ndef build():\n    return crewai.Crew(tasks=[])\n": "build",
    "from crewai import Crew\nfrom crewai.flow.flow import Flow\n\nclass Trip(Flow[dict]):\n    pass\n\ncrew = Crew()\n": "Trip",
    "from crewai import Crew\n\ndef build(name):\n    return Crew(tasks=[])\n": None,
    "class Flow:\n    pass\n\nclass Trip(Flow):\n    pass\n": None,
}


@pytest.mark.parametrize("program", PROJECTS)
def test_the_only_crew_or_flow_of_a_project_is_found(project: Path, program: str):
    (project / "teams_of_test.py").unlink()
    package = project / "src" / "tides"
    package.mkdir(parents=True)
    (package / "team.py").write_text(program)
    (project / "pyproject.toml").write_text('[tool.crewai]\ntype = "flow"\n')
    (project / "tests").mkdir()
    (project / "tests" / "test_team.py").write_text("from crewai import Crew\n\nmade_for_a_test = Crew()\n")
    if PROJECTS[program] is None:
        with pytest.raises(RunError, match="^no crew or flow given: pass one"):
            project_target()
    else:
        assert project_target() == f"tides.team:{PROJECTS[program]}"


def test_a_project_in_a_folder_of_this_one_is_not_searched(project: Path):
    (project / "teams_of_test.py").unlink()
    inner = project / "inner"
    (inner / "src" / "tides").mkdir(parents=True)
    (inner / "pyproject.toml").write_text('[tool.crewai]\ntype = "crew"\n')
    (inner / "src" / "tides" / "team.py").write_text("from crewai import Crew\n\ncrew = Crew(tasks=[])\n")
    with pytest.raises(RunError, match="^no crew or flow given: pass one"):
        project_target()


def test_of_several_crews_one_has_to_be_named(project: Path):
    (project / "pyproject.toml").write_text('[tool.crewai]\ntype = "crew"\n')
    (project / "other.py").write_text("from crewai import Crew\n\nother = Crew()\n")
    with pytest.raises(
        RunError,
        match="^no crew or flow given, and this directory defines `other:other`, `teams_of_test:crew`: pass one",
    ):
        project_target()


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("teams_of_test", "invalid target `teams_of_test`"),
        ("teams_of_test:nobody", "has no attribute `nobody`"),
        ("teams_of_test:Trips", "Did you mean `Trip`"),
        ("teams_of_test:Trip", "not a crew"),
        ("teams_of_test:Asks", "cannot be called without arguments .*: 'port'"),
        ("nowhere.py:crew", "file `.*nowhere.py` does not exist"),
        ("nowhere:crew", "module `nowhere` not found"),
    ],
)
def test_what_cannot_be_found_is_reported(named: str | None, message: str):
    with pytest.raises(RunError, match=message):
        load_crew_target(named)


def test_keys_in_the_folder_are_read_before(project: Path, monkeypatch: MonkeyPatch):
    monkeypatch.setattr(os, "environ", {**os.environ})
    (project / ".env").write_text("KEY_OF_TEST=there\n")
    (project / "keyed_team_of_test.py").write_text(f"import os\nfound = os.environ['KEY_OF_TEST']\n{_PROGRAM}")
    assert load_crew_target("keyed_team_of_test.py:made").name == "found"
