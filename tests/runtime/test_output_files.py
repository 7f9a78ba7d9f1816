"""Files that tasks write."""

import json
from pathlib import Path

import pytest
from modes import Mode
from pydantic import BaseModel

from crewgraph import ScriptedLLM
from crewgraph.errors import OutputNotSaved

from .parts import agent, crew, task


class Town(BaseModel):
    name: str
    people: int


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_the_text_is_written_and_missing_folders_are_made(mode: Mode, here: Path):
    mode.kickoff(crew(task("a", agent(ScriptedLLM(["größer"])), output_file="out/of the/box.md")))
    assert (here / "out" / "of the" / "box.md").read_text("utf-8") == "größer"


@pytest.mark.parametrize("form", ["output_json", "output_pydantic"])
def test_a_structured_output_is_written_as_json(mode: Mode, here: Path, form: str):
    llm = ScriptedLLM(['```json\n{"name": "Köln", "people": 7}\n```'])
    mode.kickoff(crew(task("a", agent(llm), output_file="town.json", **{form: Town})))
    assert json.loads((here / "town.json").read_text("utf-8")) == {"name": "Köln", "people": 7}


def test_placeholders_in_the_path_are_filled(mode: Mode, here: Path):
    mode.kickoff(
        crew(task("a", agent(ScriptedLLM(["x"])), output_file="{topic} of {year}.md")), {"topic": "rain", "year": 7}
    )
    assert (here / "rain of 7.md").read_text() == "x"


def test_an_absolute_path_with_placeholders_is_absolute(
    mode: Mode, here: Path, tmp_path_factory: pytest.TempPathFactory
):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    made = task("a", agent(ScriptedLLM(["x"])), output_file=f"{elsewhere}/{{topic}}/of {{year}}.md")
    mode.kickoff(crew(made), {"topic": "../rain", "year": 7})
    assert (elsewhere / "__rain" / "of 7.md").read_text() == "x"
    assert list(here.iterdir()) == []


def test_a_link_cannot_lead_out_of_the_folder_of_an_absolute_path(mode: Mode, here: Path, tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    with pytest.raises(OutputNotSaved, match="outside of that folder"):
        mode.kickoff(
            crew(task("a", agent(ScriptedLLM(["x"])), output_file=f"{tmp_path}/in/{{topic}}/a.md")), {"topic": "link"}
        )
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("evil", ["../escape", "/etc/escape", "a/../../escape", "..\\escape", "..", "~/escape"])
def test_an_input_cannot_lead_out_of_the_folder(mode: Mode, here: Path, evil: str):
    mode.kickoff(crew(task("a", agent(ScriptedLLM(["x"])), output_file="out/{name}.md")), {"name": evil})
    assert [path.parent for path in here.parent.rglob("*.md")] == [here / "out"]


def test_an_input_that_is_a_list_cannot_lead_out_either(mode: Mode, here: Path):
    mode.kickoff(
        crew(task("a", agent(ScriptedLLM(["x"])), output_file="out/{name}.md")), {"name": ["/../../../escape"]}
    )
    assert [path.parent for path in here.parent.rglob("*.md")] == [here / "out"]


def test_a_link_cannot_lead_out_of_the_folder(mode: Mode, here: Path, tmp_path_factory: pytest.TempPathFactory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (here / "out").symlink_to(elsewhere)
    with pytest.raises(OutputNotSaved, match="outside of that folder"):
        mode.kickoff(crew(task("a", agent(ScriptedLLM(["x"])), output_file="out/a.md")))
    assert list(elsewhere.iterdir()) == []


def test_missing_folders_are_not_made_where_that_is_not_wanted(mode: Mode, here: Path):
    made = crew(task("a", agent(ScriptedLLM(["x"])), output_file="out/a.md", create_directory=False))
    with pytest.raises(OutputNotSaved, match="its folder does not exist, and the task has `create_directory=False`"):
        mode.kickoff(made)
    assert not (here / "out").exists()


@pytest.mark.parametrize("path", ["../a.md", "a/../../b.md", "~/a.md", "$HOME/a.md", "a|b", "a;b", "a>b"])
def test_a_path_out_of_the_folder_or_for_a_shell_is_refused_when_the_task_is_made(path: str):
    with pytest.raises(ValueError, match="`output_file`"):
        task("a", agent(None), output_file=path)


def test_an_empty_name_of_a_file_is_none(mode: Mode, here: Path):
    assert mode.kickoff(crew(task("a", agent(ScriptedLLM(["x"])), output_file=""))).raw == "x"
    assert list(here.iterdir()) == []
