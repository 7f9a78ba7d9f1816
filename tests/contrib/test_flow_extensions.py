"""Declared flows and conversations load only with the flows and crews that use them."""

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

LOADED = "\nimport sys\nprint([name for name in sys.modules if name.startswith('crewgraph.contrib')])\n"

PLAIN_FLOW = """
from crewgraph.flow import Flow, listen, persist, router, start
from crewgraph.project import CrewBase

@persist()
class Plain(Flow):
    @start()
    def begin(self, day=""):
        self.state["day"] = day

    @router(begin)
    def choose(self):
        return "go"

    @listen("go")
    def leave(self):
        return self.state["day"]

assert Plain().kickoff({"day": "Monday"}) == "Monday"
"""


def test_a_plain_run_loads_neither(tmp_path: Path):
    env = {**os.environ, "CREWGRAPH_STORAGE_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", PLAIN_FLOW + LOADED], capture_output=True, text=True, check=True, env=env
    )
    assert run.stdout.strip().endswith("[]")


def test_a_class_of_a_conversation_loads_no_langgraph():
    program = """
import sys
from crewgraph.flow import ConversationState, Flow

class Desk(Flow[ConversationState]):
    conversational = True

Desk()
print([name for name in sys.modules if name.partition(".")[0] == "langgraph"])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["crewgraph.flow", "crewgraph.project"])
def test_what_is_offered_lazily_is_what_type_checkers_are_told(name: str):
    module = import_module(name)
    stub = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text("utf-8"))
    declared = {
        alias.name: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert sorted(declared) == sorted(module.__all__)
    for offered, where in declared.items():
        assert getattr(module, offered) is getattr(import_module(str(where)), offered)
    with pytest.raises(AttributeError, match=f"module `{name}` has no attribute `nothing`"):
        _ = module.nothing
