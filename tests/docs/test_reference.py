"""The reference is complete: classes, command line and environment variables."""

import ast
import inspect
import re
import runpy
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from crewgraph.cli.app import app
from crewgraph.llm.providers import PROVIDERS
from crewgraph.storage.vectors.providers import EMBEDDING_PROVIDERS
from docs.pages import ROOT
from docs.reference import CLASSES, load_class, member, public_names

REFERENCE = ROOT / "docs" / "reference"
ALL = [path for paths in CLASSES.values() for path in paths]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.rpartition(".")[2])
def test_every_public_field_and_method_is_documented(path: str):
    members = {name: member(path, name) for name in public_names(path)}
    assert [name for name, found in members.items() if found is None] == []
    assert sorted(name for name, found in members.items() if not found.docstring) == []


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.rpartition(".")[2])
def test_every_public_field_is_shown_with_its_type(path: str):
    fields = getattr(load_class(path), "model_fields", {})
    assert sorted(name for name in fields if member(path, name).annotation is None) == []
    own = [name for name in fields if re.search(r"\w(Field|Handler)\b", str(member(path, name).annotation))]
    assert own == []  # the names of our annotated types mean nothing to a reader


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.rpartition(".")[2])
def test_every_public_method_shows_its_text_in_a_shell(path: str):
    kind = load_class(path)
    methods = {name: inspect.getattr_static(kind, name, None) for name in public_names(path)}
    described = (classmethod, staticmethod, property)
    bare = [
        name
        for name, value in methods.items()
        if (inspect.isroutine(value) or isinstance(value, described)) and not inspect.getdoc(getattr(kind, name))
    ]
    assert sorted(bare) == []


def test_defaults_are_shown_as_a_reader_writes_them():
    agent, crew = "crewgraph.agent.Agent", "crewgraph.crew.Crew"
    shown = {
        (agent, "max_iter"): ("int", "25"),
        (agent, "verbose"): ("bool", "False"),
        (agent, "tools"): ("list[Any] | None", "[]"),
        (agent, "max_rpm"): ("int | None", "None"),
        (agent, "role"): ("str", "None"),
        (crew, "max_delegations"): ("int", "10"),
        (crew, "manager_agent"): ("BaseAgent | None", "None"),
        ("crewgraph.llm.llm.LLM", "stream"): ("bool | None", "False"),
        ("crewgraph.llm.llm.LLM", "api"): ("str", "'completions'"),
    }
    found = {key: (str(member(*key).annotation), str(member(*key).value)) for key in shown}
    assert found == shown


def test_the_page_of_the_command_line_is_the_help_of_the_commands():
    generator = runpy.run_path(str(ROOT / "docs" / "site" / "command_line.py"))
    assert (REFERENCE / "command-line.md").read_text("utf-8") == generator["page"](), "make reference writes it"


def commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    return group.commands


@pytest.mark.parametrize("name", list(commands()))
def test_a_command_has_a_text_for_each_option_and_examples_that_it_understands(name: str):
    command = commands()[name]
    assert command.help.split("\n\n")[0].endswith("."), "its first sentence"
    assert [item.name for item in command.params if not (item.help or "").endswith((".", "`."))] == []
    examples = [shlex.split(line) for line in command.epilog.splitlines()[2:]]
    assert examples
    for program, given, *arguments in examples:
        assert (program, given) == ("crewgraph", name)
        command.make_context(name, list(arguments))  # an unknown option or a missing argument is an error


_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_ONE_WORD = {"MODEL", "LOCALAPPDATA"}
_NO_VARIABLES = {
    *(
        "GET_AWAITABLE",
        "JUMP_FORWARD",
        "LOAD_ATTR",
        "LOAD_CONST",
        "LOAD_METHOD",
        "LOAD_SMALL_INT",
        "RETURN_CONST",
        "RETURN_VALUE",
    ),  # Python's instructions
    *("MLSTRING_LIT", "STRING_LIT"),  # symbols of CEL's grammar
    "O_BINARY",  # of the module os
}
_OF_LANGCHAIN = {"LANGSMITH_API_KEY", "LANGSMITH_TRACING"}


def variables_in_the_code() -> set[str]:
    """The texts in the code that look like names of variables, but for names of Python objects."""
    found: set[str] = set()
    for file in (ROOT / "crewgraph").rglob("*.py"):
        found |= _texts(file) | _ONE_WORD
    made = {
        name
        for provider in PROVIDERS.values()
        for names in (provider.key_variables, provider.base_variables, *provider.variables.values())
        for name in names.split()
    }
    embedding = {name for kind in EMBEDDING_PROVIDERS.values() for names in kind.variables.values() for name in names}
    return (found | made | embedding) - _NO_VARIABLES


def _texts(file: Path) -> set[str]:
    tree = ast.parse(file.read_text("utf-8"))
    defined = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if _VARIABLE.fullmatch(text)} - defined - imported


def test_the_page_of_the_environment_lists_exactly_what_the_code_reads():
    page = (REFERENCE / "environment.md").read_text("utf-8")
    code = set(re.findall(r"`(\w+)`", page))
    listed = {name for name in code if _VARIABLE.fullmatch(name) or name in _ONE_WORD}
    read = variables_in_the_code()
    assert {"missing": sorted(read - listed), "unknown": sorted(listed - read - _OF_LANGCHAIN)} == {
        "missing": [],
        "unknown": [],
    }


def test_the_page_of_the_environment_has_each_provider_with_its_variables():
    page = (REFERENCE / "environment.md").read_text("utf-8").splitlines()

    def code(names: Sequence[str]) -> str:
        return ", ".join(f"`{name}`" for name in names)

    models = {
        f"| `{one.name}` | {code(one.key_variables.split())} | {code(one.base_variables.split())} |"
        for one in PROVIDERS.values()
        if one.key_variables or one.base_variables
    }
    embedders = {
        f"| `{one.name}` | `{setting}` | {code(names)} |"
        for one in EMBEDDING_PROVIDERS.values()
        for setting, names in one.variables.items()
    }
    assert sorted((models | embedders) - set(page)) == []
