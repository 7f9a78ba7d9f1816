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
OWN_CREWS, OWN_FLOWS = ("charts", "harbour", "yard"), ("desk", "press", "race", "sorting", "ticket")
CREWS = (
    *("two_tasks", "tool_class", "guardrail_retry", "conditional_skipped", "callbacks", "async_tasks"),
    *(
        "conditional_after_async",
        "pydantic_output",
        "pydantic_output_fenced",
        "context_list",
        "tool_several_at_once",
        "tool_result_as_answer",
    ),
    *("tool_async", "cache_function", "kickoff_callbacks", "human_input_guardrail", "human_input_nobody"),
    *("hierarchical_tools", "hierarchical_conditional", "hierarchical_task_tools", "delegation_further", "project"),
    *("knowledge_both", "knowledge_files", "knowledge_custom", "knowledge_hierarchical", "knowledge_with_memory"),
    *("memory_two_tasks", "memory_hierarchical", "memory_in_yaml", "memory_embedder_function", "planning_with_tools"),
    *("planning_conditional", "hierarchical_planning", "reasoning", "skills_agent", "skills_activated", "templates"),
    *("max_execution_time", "max_execution_time_over", "train_then_kickoff", "guardrails_many", "tool_failure"),
)
FLOWS = (
    *("flow_and", "flow_router_loop", "flow_router_list", "flow_router_computed", "flow_with_crew"),
    *("flow_state_dict", "flow_nested", "flow_nested_and_or", "flow_agent_kickoff", "flow_crew_for_each"),
    "event_sources",
)
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
def test_an_ejected_program_does_what_it_was_made_of_does(compare: Compare, name: str):
    found = compare(name)
    assert difference(found) == "", found.output


@pytest.mark.parametrize("name", ALL)
def test_an_ejected_program_has_no_trace_of_crewgraph(compare: Compare, name: str):
    found = compare(name)
    assert found.outcome["framework"] == []
    assert not re.search(r"^\s*(from|import) (crewai|crewgraph)", found.source, re.MULTILINE)
    assert "key" not in re.findall(r'"(\w+)"', found.source)  # that of the environment


@pytest.mark.parametrize("name", ["charts", "press", "pydantic_output", "pydantic_output_fenced"])
def test_an_ejected_program_asks_for_the_same_structures(compare: Compare, name: str):
    found = compare(name)
    asked, expected = (
        [body["response_format"] for body in requests.bodies if "response_format" in body]
        for requests in (found.requests, found.reference_requests)
    )
    assert asked == expected != []


@pytest.mark.parametrize("name", ALL)
def test_every_key_of_the_state_is_used(compare: Compare, name: str):
    tree = ast.parse(compare(name).source)
    kinds = [one for one in tree.body if isinstance(one, ast.ClassDef)]
    keys = {
        one.target.id
        for kind in kinds
        if kind.name.endswith(("State", "Inputs"))
        for one in kind.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }
    functions = ast.unparse(ast.Module([one for one in tree.body if not isinstance(one, ast.ClassDef)], []))
    assert not [key for key in keys if not re.search(rf"['.]{key}\b", functions)]


def test_routers_that_change_the_state_select_the_next_node_themselves_and_pass_on_what_is_read(compare: Compare):
    found = compare("ticket").source
    assert 'return Command(update={"kind": state.kind}, goto="reproduce")' in found
    assert 'return Command(update={"guess_input": "other", "kind": state.kind}, goto="guess")' in found
    assert 'return Command(update={"tries": state.tries}, goto="close")' in found
    assert "close_input" not in found and "add_conditional_edges" not in found


def test_ejected_programs_keep_to_the_linter(compare: Compare, tmp_path: Path):
    for name in ALL:
        (tmp_path / f"{name}.py").write_text(compare(name).source, "utf-8")
    for subcommand in (("check",), ("format", "--check")):
        command = [
            sys.executable,
            "-m",
            "ruff",
            *subcommand,
            "--no-cache",
            "--config",
            str(ROOT / "pyproject.toml"),
            ".",
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_ejected_from_typed_programs_is_typed(compare: Compare, tmp_path: Path):
    for name in (*OWN_CREWS, *OWN_FLOWS):
        text = compare(name).source
        assert "# ruff: noqa" not in text
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    # As in `pyproject.toml`: the types of langgraph are partially unknown.
    lenient = {"reportUnknownMemberType": False, "reportMissingTypeStubs": False}
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", **lenient}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_graph_of_a_crew_has_a_node_for_each_task_and_edges_for_their_order(compare: Compare):
    outcome = compare("harbour").outcome
    assert outcome["nodes"] == ["__end__", "__start__", "end", "less", "look", "measure", "more", "title"]
    assert outcome["edges"] == [
        ["__start__", "look", False],
        ["__start__", "measure", False],
        ["end", "__end__", False],
        ["less", "end", False],
        ["look", "title", False],
        ["measure", "title", False],
        ["more", "end", True],
        ["more", "less", True],
        ["title", "end", True],
        ["title", "less", True],
        ["title", "more", True],
    ]
    assert sorted(outcome["steps"][:2]) == ["look", "measure"]
    assert outcome["steps"][2:] == ["title", "more", "end"]


def test_the_graph_of_a_flow_has_a_node_for_each_method_but_for_routers_that_only_select_the_next_node(
    compare: Compare,
):
    outcome = compare("desk").outcome
    assert outcome["nodes"] == ["__end__", "__start__", "draft", "judge", "layout", "out", "picture", "words"]
    assert outcome["edges"] == [
        ["__start__", "draft", False],
        ["draft", "judge", False],
        ["judge", "draft", True],
        ["judge", "picture", True],
        ["judge", "words", True],
        ["layout", "out", True],
        ["out", "__end__", False],
        ["picture", "layout", False],
        ["words", "layout", False],
    ]
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
