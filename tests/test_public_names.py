"""What `import crewgraph` offers, and what it loads."""

import json
import subprocess
import sys

import pytest

import crewgraph


def python(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_dir_lists_the_public_names_alone():
    assert dir(crewgraph) == sorted(crewgraph.__all__)
    assert len(set(crewgraph.__all__)) == len(crewgraph.__all__)
    assert [name for name in dir(crewgraph) if name.startswith("_") and name != "__version__"] == []


@pytest.mark.parametrize("name", crewgraph.__all__)
def test_every_public_name_resolves_to_the_same_thing_each_time(name: str):
    found = getattr(crewgraph, name)
    assert found is not None
    assert getattr(crewgraph, name) is found


def test_flows_can_be_written_with_the_names_of_the_package():
    told = python(
        """
from crewgraph import Flow, start, listen, router, and_, or_, persist, human_feedback, tool
from crewgraph import flow
assert (Flow, start, listen, router, and_, or_, persist, human_feedback) == (
    flow.Flow, flow.start, flow.listen, flow.router, flow.and_, flow.or_, flow.persist, flow.human_feedback
)
class Greeting(Flow):
    @start()
    def name(self):
        return "Ada"
    @listen(name)
    def greet(self, name):
        return f"Hello {name}"
print(Greeting().kickoff())
"""
    )
    assert told.splitlines()[-1] == "Hello Ada"


def test_importing_crewgraph_loads_neither_langgraph_nor_flows():
    loaded = json.loads(python("import crewgraph, json, sys; print(json.dumps(sorted(sys.modules)))"))
    heavy = {"langgraph", "langchain_core", "numpy", "openai", "rich", "typer", "yaml"}
    assert [name for name in loaded if name.partition(".")[0] in heavy] == []
    assert [name for name in loaded if name.startswith(("crewgraph.definitions.flow", "crewgraph.flow"))] == []
    assert [name for name in loaded if name.startswith(("crewgraph.runtime", "crewgraph.compiler"))] == []


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module `crewgraph` has no attribute `Crwe`"):
        crewgraph.Crwe  # type: ignore[attr-defined] # noqa: B018
