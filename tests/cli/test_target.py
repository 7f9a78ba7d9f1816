"""Loading the target of a command."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import crewgraph_compat
import pytest
from pytest import MonkeyPatch

from crewgraph.cli.target import load_crew_target, load_flow_target
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


def test_a_flow_is_found_by_its_class():
    assert type(load_flow_target("teams_of_test:Trip")).__name__ == "Trip"


def test_the_project_names_its_own(project: Path):
    (project / "pyproject.toml").write_text('[tool.crewgraph]\ntarget = "teams_of_test:made"\n')
    assert load_crew_target(None).name == "found"


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (None, "no crew or flow given"),
        ("teams_of_test", "invalid target `teams_of_test`"),
        ("teams_of_test:nobody", "has no attribute `nobody`"),
        ("teams_of_test:Trip", "not a crew"),
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
