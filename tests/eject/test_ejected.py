"""Crews and flows that were ejected do what they do on crewgraph, without it."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from parity.run_program import source

from eject.run_both import ROOT, Comparison, comparison_runner, difference

PROGRAMS = Path(__file__).parent / "programs"
OWN_CREWS, OWN_FLOWS = ("charts", "harbour", "yard"), ("desk", "press", "ticket")
CREWS = (
    *("conditional_skipped", "callbacks", "async_tasks", "pydantic_output_fenced", "context_list"),
    *("tool_result_as_answer", "cache_function", "kickoff_callbacks", "human_input_guardrail", "human_input_nobody"),
    *("hierarchical_tools", "hierarchical_task_tools", "delegation_further", "project"),
    *("knowledge_files", "knowledge_custom", "knowledge_with_memory", "memory_in_yaml", "memory_embedder_function"),
    *("planning_with_tools", "planning_conditional", "hierarchical_planning", "reasoning", "skills_agent", "templates"),
    *("max_execution_time_over", "train_then_kickoff", "guardrails_many", "tool_failure"),
)
FLOWS = (
    "flow_router_loop", "flow_router_list", "flow_router_computed", "flow_nested", "flow_two_crews",
    "event_sources",
)  # fmt: skip
STRUCTURED = ("charts", "press", "pydantic_output_fenced")
ALL = (*OWN_CREWS, *OWN_FLOWS, *CREWS, *FLOWS)

Compare = Callable[[str], Comparison]


def program(name: str) -> Path:
    own = PROGRAMS / f"{name}.py"
    return own if own.exists() else source(name)


@pytest.fixture(scope="module")
def compare(tmp_path_factory: pytest.TempPathFactory) -> Generator[Compare]:
    """Runs a program and its ejected form, once."""
    known: dict[str, Comparison] = {}
    with comparison_runner() as runner:

        def once(name: str) -> Comparison:
            if name not in known:
                known[name] = runner.run(program(name), tmp_path_factory.mktemp(name))
            return known[name]

        yield once


@pytest.mark.parametrize("name", ALL)
def test_an_ejected_program_does_what_it_was_made_of_does_without_crewgraph(compare: Compare, name: str):
    found = compare(name)
    assert difference(found) == "", found.output
    assert found.outcome["framework"] == []
    assert not re.search(r"^\s*(from|import) (crewai|crewgraph)", found.source, re.MULTILINE)
    assert "key" not in re.findall(r'"(\w+)"', found.source)  # that of the environment
    assert unused_keys(found.source) == []
    asked, expected = (
        [body["response_format"] for body in requests.bodies if "response_format" in body]
        for requests in (found.requests, found.reference_requests)
    )
    if name in STRUCTURED:
        assert asked == expected != []


def unused_keys(source: str) -> list[str]:
    """The keys of the state and of the inputs that no function reads or writes."""
    tree = ast.parse(source)
    keys = [
        one.target.id
        for kind in tree.body
        if isinstance(kind, ast.ClassDef) and kind.name.endswith(("State", "Inputs"))
        for one in kind.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    ]
    functions = ast.unparse(ast.Module([one for one in tree.body if not isinstance(one, ast.ClassDef)], []))
    return [key for key in keys if not re.search(rf"['.]{key}\b", functions)]


def test_routers_that_change_the_state_select_the_next_node_themselves_and_pass_on_what_is_read(compare: Compare):
    found = compare("ticket").source
    assert 'return Command(update={"kind": state.kind}, goto="reproduce")' in found
    assert 'return Command(update={"guess_input": "other", "kind": state.kind}, goto="guess")' in found
    assert 'return Command(update={"tries": state.tries}, goto="close")' in found
    assert "close_input" not in found and "add_conditional_edges" not in found


def test_what_is_ejected_from_typed_programs_keeps_to_the_linter_and_is_typed(compare: Compare, tmp_path: Path):
    for name in (*OWN_CREWS, *OWN_FLOWS):
        text = compare(name).source
        assert "# ruff: noqa" not in text
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    settings = str(ROOT / "pyproject.toml")
    # As in `pyproject.toml`: the types of langgraph are partially unknown.
    lenient = {"reportUnknownMemberType": False, "reportMissingTypeStubs": False}
    strict = {"typeCheckingMode": "strict", "pythonVersion": "3.11", **lenient}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(strict), "utf-8")
    for command in (
        ["ruff", "check", "--no-cache", "--config", settings, "."],
        ["ruff", "format", "--check", "--no-cache", "--config", settings, "."],
        ["pyright", "--pythonpath", sys.executable],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_graph_of_a_crew_has_a_node_for_each_task_and_edges_for_their_order(compare: Compare):
    outcome = compare("harbour").outcome
    assert outcome["nodes"] == ["__end__", "__start__", "end", "less", "look", "measure", "more", "title"]
    assert outcome["edges"] == [
        ["__start__", "look", False], ["__start__", "measure", False], ["end", "__end__", False],
        ["less", "end", False], ["look", "title", False], ["measure", "title", False], ["more", "end", True],
        ["more", "less", True], ["title", "end", True], ["title", "less", True], ["title", "more", True],
    ]  # fmt: skip
    assert sorted(outcome["steps"][:2]) == ["look", "measure"]
    assert outcome["steps"][2:] == ["title", "more", "end"]


def test_the_graph_of_a_flow_has_a_node_for_each_method_but_for_routers_that_only_select_the_next_node(
    compare: Compare,
):
    outcome = compare("desk").outcome
    assert outcome["nodes"] == ["__end__", "__start__", "draft", "judge", "layout", "out", "picture", "words"]
    assert outcome["edges"] == [
        ["__start__", "draft", False], ["draft", "judge", False], ["judge", "draft", True],
        ["judge", "picture", True], ["judge", "words", True], ["layout", "out", True], ["out", "__end__", False],
        ["picture", "layout", False], ["words", "layout", False],
    ]  # fmt: skip
    assert outcome["steps"][:4] == ["draft", "judge", "draft", "judge"]
    assert sorted(outcome["steps"][4:6]) == ["picture", "words"]
    assert outcome["steps"][6:] == ["layout", "out"]


def test_files_are_written_and_callbacks_called_by_an_ejected_crew(
    compare: Compare, tmp_path_factory: pytest.TempPathFactory
):
    compare("harbour")
    place = next(one for one in tmp_path_factory.getbasetemp().iterdir() if one.name.startswith("harbour"))
    for work in ("work", "work2"):
        assert json.loads((place / work / "out" / "Brest.json").read_text("utf-8")) == {
            "harbour": "Brest",
            "height": 6.5,
        }
    reported = [(place / work / "notes.txt").read_text("utf-8").splitlines() for work in ("work", "work2")]
    assert sorted(reported[0]) == sorted(reported[1])
    assert reported[1][-1] == "Writer: END-2"
