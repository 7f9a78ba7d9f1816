"""Where agents.yaml and tasks.yaml are found, and the errors for invalid ones."""

import copy
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from crewgraph import Agent
from crewgraph.deprecations import UnknownKeyword
from crewgraph.errors import DefinitionError

from .parts import AGENTS, CREW, TASKS, roles

Load = Callable[..., Any]

EMPTY = "@CrewBase\nclass Paper:\n"


def error_message(load: Load, *, agents: str | None = None, tasks: str | None = None, program: str = CREW) -> str:
    """Return the error message of a project with these files."""
    with pytest.raises(ValueError) as caught:
        load(program, agents=agents or AGENTS, tasks=tasks or TASKS).Paper().crew()
    return str(caught.value)


def test_files_lie_alongside_the_file_of_the_class_wherever_the_program_runs(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    paper = load(CREW, folder="paper", agents=AGENTS, tasks=TASKS).Paper()
    assert roles(paper.crew()) == ["Researcher of {topic}", "Writer"]
    assert paper.agents_config["writer"] == {
        "role": "Writer",
        "goal": "Write plainly",
        "backstory": "A former journalist.",
    }


def test_configurations_are_dicts_of_dicts(load: Load):
    paper = load(CREW, agents=AGENTS, tasks=TASKS).Paper()
    assert all(isinstance(one, dict) for one in (paper.agents_config, paper.agents_config["writer"]))
    assert list(paper.agents_config) == ["researcher", "writer"]
    assert os.path.join("folder", paper.agents_config) == "folder/config/agents.yaml"
    assert json.loads(json.dumps(paper.agents_config))["writer"]["role"] == "Writer"
    assert paper.agents_config.get("nobody", "none") == "none"
    assert "nobody" not in paper.agents_config
    assert [name for name, _ in paper.tasks_config.items()] == ["facts", "text"]
    assert [entry["agent"].role for entry in paper.tasks_config.values()] == ["Researcher of {topic}", "Writer"]
    assert paper.tasks_config.copy()["facts"] is paper.tasks_config["facts"]
    copied = copy.deepcopy(paper.agents_config)
    copied["writer"]["role"] = "Poet"
    assert paper.agents_config["writer"]["role"] == "Writer"
    assert paper.tasks_config.pop("text")["context"] == [paper.facts()]
    assert paper.tasks_config.pop("text", None) is None
    assert list(paper.tasks_config) == ["facts"]


def test_the_class_keeps_showing_the_path(load: Load):
    paper = load(EMPTY + "    agents_config = 'config/agents.yaml'\n", agents=AGENTS).Paper
    assert paper.agents_config == "config/agents.yaml"
    assert list(paper().agents_config) == ["researcher", "writer"]


def test_none_means_no_configuration(load: Load):
    paper = load(EMPTY + "    agents_config = None\n", agents=AGENTS).Paper()
    assert paper.agents_config == {}
    with pytest.raises(KeyError, match="`agents_config` of `Paper` has no entry `writer`"):
        paper.agents_config["writer"]


def test_a_property_of_the_users_own_stays(load: Load):
    program = EMPTY + "    @property\n    def agents_config(self):\n        return {'a': 1}\n"
    assert load(program).Paper().agents_config == {"a": 1}


def test_a_subclass_elsewhere_finds_its_own_files_else_those_of_the_base(load: Load):
    base = load(CREW, folder="base", agents=AGENTS, tasks=TASKS)
    sys.modules["the_base_of_a_paper"] = base
    try:
        program = "from the_base_of_a_paper import Paper\nclass Child(Paper): pass\n"
        assert roles(load(program, folder="plain").Child()) == ["Researcher of {topic}", "Writer"]
        own = load(program, folder="own", agents=AGENTS.replace("Writer", "Poet")).Child
        assert roles(own()) == ["Researcher of {topic}", "Poet"]
        assert list(own().tasks_config) == ["facts", "text"]
    finally:
        del sys.modules["the_base_of_a_paper"]


def test_texts_are_utf_8_and_placeholders_stay(load: Load, tmp_path: Path):
    (tmp_path / "config").mkdir()
    text = "\ufeff研究员:\n  role: 研究员 {topic}\n  goal: '{goal}'\n  backstory: ${HOME} 😀\n"
    (tmp_path / "config" / "agents.yaml").write_text(text, "utf-8")
    entry = load(EMPTY + "    pass\n").Paper().agents_config["研究员"]
    assert entry == {"role": "研究员 {topic}", "goal": "{goal}", "backstory": "${HOME} 😀"}


def test_a_file_that_is_named_and_missing_is_a_warning_where_nothing_needs_it(load: Load, tmp_path: Path):
    program = """
    @CrewBase
    class Paper:
        agents_config = "config/people.yaml"

        @agent
        def one(self):
            return Agent(role="One", goal="g", backstory="b")

        @task
        def work(self):
            return Task(description="d", expected_output="e", agent=self.one())

        @crew
        def crew(self):
            return Crew(agents=self.agents, tasks=self.tasks)
    """
    with pytest.warns(UserWarning) as caught:
        load(program).Paper().crew()
    path = tmp_path / "config" / "people.yaml"
    assert [str(one.message) for one in caught] == [
        f"the file {path} for `agents_config` of `Paper` does not exist; using an empty configuration"
    ]


def test_the_usual_files_may_be_missing_without_a_word(load: Load):
    paper = load(CREW).Paper()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert (paper.agents_config, paper.tasks_config) == ({}, {})
    assert caught == []


def test_a_file_that_is_missing_is_an_error_where_something_needs_it(load: Load, tmp_path: Path):
    path = tmp_path / "config" / "agents.yaml"
    with pytest.raises(KeyError) as caught:
        load(CREW).Paper().crew()
    assert str(caught.value) == (
        f"the file {path} for `agents_config` of `Paper` does not exist: it has no entry `researcher`."
    )


def test_an_entry_that_is_not_there_is_reported_with_those_that_are(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert error_message(load, agents=AGENTS.replace("writer:", "writre:")) == (
        "config/agents.yaml has no entry `writer`. Did you mean `writre`? There are: `researcher`, `writre`."
    )


def test_an_empty_file_holds_nothing(load: Load):
    for text in ("", "# nothing yet\n", "null\n", "{}"):
        assert load(EMPTY + "    pass\n", agents=text).Paper().agents_config == {}


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        ("writer: [1", "config/agents.yaml:1:11: invalid YAML: while parsing a flow sequence, expected ',' or ']'"),
        ("writer:\n\trole: W\n", "config/agents.yaml:2:1: invalid YAML: .*Indent with spaces"),
        ("writer:\n  role: a: b\n", "config/agents.yaml:2:10: invalid YAML: mapping values are not allowed here"),
        ("writer:\n  role: {topic} writer\n", "config/agents.yaml:2:17: invalid YAML: .*quote texts with"),
        ("writer: *nobody", "config/agents.yaml:1:9: invalid YAML: found undefined alias 'nobody'$"),
        ("writer: !!python/name:os.system x", "config/agents.yaml:1:9: invalid YAML: could not determine a constr"),
        ("writer:\n  role: \x00\n", "config/agents.yaml:2: invalid YAML: the file contains a control character"),
        ("a: {role: A}\n---\nb: {role: B}\n", "config/agents.yaml:2:1: invalid YAML: expected a single document"),
        ("writer: someone\n", "config/agents.yaml:1: `writer`: it is 'someone'. Put its keys and values below it"),
        ("\nwriter:\n", "config/agents.yaml:2: `writer`: it is empty."),
        ("yes: {role: W}\n", "config/agents.yaml:1: YAML reads the name `yes` as bool, not as a string. Quote it"),
        ("writer:\n  on: W\n", "config/agents.yaml:2: YAML reads the name `on` as bool"),
        ("{a}: b\n", "config/agents.yaml:1: YAML reads the name `{...}` as map"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported_with_its_line(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agents: str, message: str
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DefinitionError, match=message.replace("`{...}`", "`{\\.\\.\\.}`").replace("[1", "\\[1")):
        load(CREW, agents=agents, tasks=TASKS).Paper().crew()


def test_a_file_that_is_not_utf_8_is_reported(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "agents.yaml").write_bytes("a:\n  role: Prüfer\n".encode("latin-1"))
    with pytest.raises(DefinitionError, match="config/agents.yaml:2: the file is not UTF-8; save it as UTF-8"):
        _ = load(EMPTY + "    pass\n").Paper().agents_config


def test_the_last_of_two_keys_counts_with_a_warning_that_has_both_lines(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    paper = load(EMPTY + "    pass\n", agents=AGENTS + "writer:\n  role: A\n  goal: g\n  role: B\n").Paper()
    with pytest.warns(UserWarning) as caught:
        assert paper.agents_config["writer"] == {"role": "B", "goal": "g"}
    assert [str(one.message) for one in caught] == [
        "config/agents.yaml:9: `writer` replaces line 5. Remove one of them.",
        "config/agents.yaml:12: `role` replaces line 10. Remove one of them.",
    ]


def test_a_file_with_a_list_or_a_text_counts_as_empty_with_a_warning(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for text, message in (
        ("- writer\n", "yaml:1: the file contains a list"),
        ("\nwriter\n", "yaml:2: the file contains a text"),
        ("- !of_another_program {}\n", "yaml:1: the file contains a list"),
        ("2024-13-45\n", "yaml:1: the file contains a text"),
    ):
        paper = load(EMPTY + "    pass\n", agents=text).Paper()
        with pytest.warns(UserWarning, match=message):
            assert paper.agents_config == {}


def test_braces_without_quotes_are_reported(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert error_message(load, agents=AGENTS.replace("role: Writer", "role: {topic}")) == (
        "config/agents.yaml:6: `role` of `writer`: YAML reads the leading `{topic}` as a mapping. "
        "Quote the text: `role: '{topic}'`."
    )


def test_a_fault_in_an_entry_that_is_merged_into_the_file_is_reported_with_its_line(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    merged = "shared: &shared\n  editor:\n    goal: G\n    role: {topic}\n<<: *shared\n"
    assert error_message(load, agents=merged + AGENTS).startswith("config/agents.yaml:4: `role` of `editor`")


def test_a_value_of_a_wrong_type_is_reported_with_file_line_and_key(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    agents = AGENTS + "  max_iter: many\n  verbose:\n  allow_delegation: perhaps\n"
    with pytest.raises(ValidationError) as caught:
        load(CREW, agents=agents, tasks=TASKS).Paper().writer()
    assert [(error["loc"], error["type"], error["msg"]) for error in caught.value.errors()] == [
        (("verbose",), "bool_type", "config/agents.yaml:10: `verbose` of `writer`: Input should be a valid boolean"),
        (
            ("allow_delegation",),
            "bool_parsing",
            "config/agents.yaml:11: `allow_delegation` of `writer`: Input should be a valid boolean, unable to interpret "
            "input",
        ),
        (
            ("max_iter",),
            "int_parsing",
            "config/agents.yaml:9: `max_iter` of `writer`: Input should be a valid integer, unable to parse string as an "
            "integer",
        ),
    ]


def test_a_missing_key_and_a_misspelt_one_are_reported_together(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with (
        pytest.warns(
            UnknownKeyword, match="config/agents.yaml:6: `Agent` has no keyword `roel`.* Did you mean `role`?"
        ),
        pytest.raises(ValidationError, match="config/agents.yaml:5: `role` of `writer`: Field required"),
    ):
        load(CREW, agents=AGENTS.replace("role: Writer", "roel: Writer"), tasks=TASKS).Paper().writer()


def test_an_unknown_key_is_a_warning_at_the_line_of_the_program(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    module = load(CREW, agents=AGENTS, tasks=TASKS + "  verbos: true\n")
    with pytest.warns(UnknownKeyword) as caught:
        module.Paper().crew()
    assert [(one.filename, str(one.message)) for one in caught] == [
        (str(tmp_path / "crew.py"), "config/tasks.yaml:10: `Task` has no keyword `verbos`; it has no effect.")
    ]


def test_the_same_unknown_key_in_two_entries_is_reported_twice(load: Load):
    agents = AGENTS.replace("  goal", "  model: gpt\n  goal")
    with pytest.warns(UnknownKeyword) as caught:
        load(CREW, agents=agents, tasks=TASKS).Paper().crew()
    assert [str(one.message).partition("agents.yaml:")[2][:12] for one in caught] == ["3: `Agent` h", "8: `Agent` h"]


def test_what_is_no_path_and_no_dict_is_refused(load: Load):
    with pytest.raises(
        DefinitionError, match=r"`agents_config` of `Paper` is \['a.yaml'\]; set it to the path of a YAML file"
    ):
        _ = load(EMPTY + "    agents_config = ['a.yaml']\n").Paper().agents_config


def test_a_folder_is_no_file(load: Load, tmp_path: Path):
    (tmp_path / "config").mkdir()
    with pytest.warns(UserWarning, match="the file .*config for `agents_config` .* does not exist"):
        assert load(EMPTY + "    agents_config = 'config'\n").Paper().agents_config == {}


def test_faults_of_config_without_a_project_are_reported_as_before():
    with pytest.raises(ValidationError) as caught:
        Agent(config={"role": "R", "goal": "g", "backstory": "b", "max_iter": "x"})  # pyright: ignore[reportCallIssue]
    assert caught.value.errors()[0]["msg"].startswith("Input should be a valid integer")


def bomb(levels: int) -> str:
    lines = ["x0: &x0 {role: R, goal: G, backstory: B}"]
    lines += [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("text", [bomb(9), bomb(40), "a: &a [*a]\n", "a: &a {b: *a}\n"])
def test_aliases_that_stand_for_too_much_are_refused(load: Load, text: str):
    message = error_message(load, agents=AGENTS + text)
    assert "with its aliases (`*name`) written out, this holds more than 100,000 values, or itself" in message
    assert "config/agents.yaml:" in message
    assert "config/tasks.yaml:" in error_message(load, tasks=TASKS + text)


def test_a_file_that_is_nested_too_deeply_is_refused(load: Load):
    message = error_message(load, agents=f"{AGENTS}deep: {'[' * 20_000}{']' * 20_000}\n")
    assert message.endswith("config/agents.yaml: the file is nested too deeply; write it with fewer levels")
