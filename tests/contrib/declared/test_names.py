"""References to Python in declarations, and faults found before anything runs."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from crewgraph.deprecations import UnknownKeyword
from crewgraph.errors import DefinitionError
from crewgraph.flow import Flow

FILE = "name: Trip\nmethods: {go: {start: true, do: {ref: 'ferry_words:said'}}}\n"


def test_crews_and_agents_that_cannot_be_made_are_reported_together_before_anything_runs():
    agent = {"role": "sailor", "goal": "g", "backstory": "b", "input": "Go.", "tools": ["custom:no_such"]}
    methods = {
        "crew": {"start": True, "do": {"call": "crew", "from_declaration": "no_such"}},
        "agent": {"listen": "crew", "do": {"call": "agent", "with": agent}},
    }
    with pytest.raises(DefinitionError, match=r"(?s)no_such.*methods\.agent\.do\.with.*custom:no_such"):
        Flow.from_declaration(contents={"name": "Trip", "methods": methods})
    with pytest.raises(FileNotFoundError):
        Flow.from_declaration(contents={"name": "Trip", "methods": {"crew": methods["crew"]}})


def test_a_reference_names_a_module_not_a_path(tmp_path: Path):
    (tmp_path / "home" / "sub").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "home", tmp_path / "home" / "sub"):
        (folder / "ferry_path.py").write_text("def said(flow):\n    return 'a path'\n")
    for ref in (
        f"{tmp_path}/ferry_path",
        "../ferry_path",
        "..ferry_path",
        ".ferry_path",
        "sub/ferry_path",
        "sub\\ferry",
    ):
        (tmp_path / "home" / "trip.json").write_text(
            json.dumps({"name": "Trip", "methods": {"go": {"start": True, "do": {"ref": f"{ref}:said"}}}})
        )
        with pytest.raises(DefinitionError, match='not of the form "module:name"'):
            Flow.from_declaration(path=tmp_path / "home" / "trip.json")


def test_texts_of_an_agent_that_are_not_filled_hold_no_expressions():
    agent = {"role": "sailor", "goal": "Sail to ${state.port}", "backstory": "b", "input": "Go."}
    with pytest.raises(ValidationError, match="`goal` contains `\\$\\{`"):
        Flow.from_declaration(
            contents={"name": "Trip", "methods": {"a": {"start": True, "do": {"call": "agent", "with": agent}}}}
        )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("config: {max_methods_calls: 3}", "`FlowConfig` of a declaration has no `max_methods_calls`"),
        ("persists: {enabled: true}", "`Flow` of a declaration has no `persists`"),
        ("config: {memory: {recency_wait: 0.1}}", "`config.memory` of a declaration has no `recency_wait`"),
    ],
)
def test_unknown_keys_are_reported(more: str, message: str):
    with pytest.warns(UnknownKeyword, match=message):
        Flow.from_declaration(contents=f"{FILE.replace('ferry_words:said', 'builtins:str')}{more}\n")
