"""What `import crewgraph` offers, and what it loads."""

import json
import subprocess
import sys
from pathlib import Path

import processes
import pytest

import crewgraph


def python(program: str) -> str:
    done = subprocess.run(
        [sys.executable, *processes.STRICT, "-c", program], capture_output=True, text=True, check=False, timeout=250
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
    reported = python(
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
    assert reported.splitlines()[-1] == "Hello Ada"


def _loaded_by(program: str) -> list[str]:
    return json.loads(python(f"{program}\nimport json, sys; print(json.dumps(sorted(sys.modules)))").splitlines()[-1])


CREW_IS_DECLARED = """
from crewgraph import Agent, Crew, Task
agent = Agent(role="r", goal="g", backstory="b", llm="openai/gpt-4o")
Crew(agents=[agent], tasks=[Task(description="d", expected_output="e", agent=agent)])
"""
MODEL_IS_NAMED = (
    "import crewgraph.llm.llm, crewgraph.llm.resolve, crewgraph.llm.scripted\ncrewgraph.llm.llm.LLM('openai/gpt-4o')"
)


@pytest.mark.parametrize(
    "program",
    [CREW_IS_DECLARED, MODEL_IS_NAMED, "import crewgraph.events", "import crewgraph.tools, crewgraph.tools.use"],
)
def test_what_programs_declare_loads_no_framework_and_no_client(program: str):
    heavy = {
        "faiss",
        "httpx",
        "langchain_core",
        "langchain_openai",
        "langgraph",
        "langsmith",
        "numpy",
        "openai",
        "rich",
    }
    assert heavy & set(_loaded_by(program)) == set()


def test_importing_crewgraph_loads_next_to_nothing():
    loaded = _loaded_by("import crewgraph")
    assert [name for name in loaded if name.startswith("crewgraph")] == ["crewgraph", "crewgraph.lazy"]
    assert "pydantic" not in loaded


_DEFINITIONS = """
from crewgraph import Agent, Crew, ScriptedLLM, Task
agent = Agent(role="Clerk", goal="Settle", backstory="You settle.", llm=ScriptedLLM(["Final Answer: done"]))
crew = Crew(agents=[agent], tasks=[Task(description="Settle", expected_output="A line", agent=agent)])
"""


def test_defining_a_crew_loads_neither_langgraph_nor_flows():
    loaded = _loaded_by(_DEFINITIONS)
    heavy = {"langgraph", "langchain_core", "numpy", "openai", "rich", "typer", "yaml"}
    assert [name for name in loaded if name.partition(".")[0] in heavy] == []
    assert [name for name in loaded if name.startswith(("crewgraph.definitions.flow.flow", "crewgraph.flow"))] == []
    assert [name for name in loaded if name.startswith(("crewgraph.runtime", "crewgraph.compiler"))] == []


@pytest.mark.parametrize("checkpointer", ["False", "None"], ids=["not stored", "stored"])
def test_a_run_loads_only_what_it_uses(checkpointer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CREWGRAPH_STORAGE_DIR", str(tmp_path))
    loaded = _loaded_by(f"{_DEFINITIONS}\nassert crew.kickoff(checkpointer={checkpointer}).raw == 'done'")
    unused = (
        "crewgraph.compiler.agent.delegation",
        "crewgraph.compiler.agent.event_tool",
        "crewgraph.compiler.agent.executor",
        "crewgraph.compiler.agent.memory",
        "crewgraph.compiler.agent.plan",
        "crewgraph.contrib",
        "crewgraph.definitions.agent.delegation_tools",
        "crewgraph.definitions.flow.flow",
        "crewgraph.events.agent",
        "crewgraph.events.crew",
        "crewgraph.events.llm",
        "crewgraph.events.people",
        "crewgraph.events.planning",
        "crewgraph.events.task",
        "crewgraph.events.tool",
        "crewgraph.knowledge.knowledge",
        "crewgraph.knowledge.source",
        "crewgraph.llm.chat_model",
        "crewgraph.llm.fallback",
        "crewgraph.llm.llm",
        "crewgraph.llm.retry",
        "crewgraph.memory",
        "crewgraph.observe.logfile",
        "crewgraph.runtime.flow",
        "crewgraph.runtime.runs.index",
        "crewgraph.runtime.runs.stored_run",
        "crewgraph.storage.store",
        "crewgraph.tools.code",
        "crewgraph.tools.mcp",
        *(["crewgraph.storage.checkpoints.sqlite", "crewgraph.storage.database"] if checkpointer == "False" else ()),
    )
    mine = [name for name in loaded if name.startswith(unused) and name != "crewgraph.compiler.agent.memory_calls"]
    assert mine == []


def test_a_part_of_the_package_is_loaded_where_it_is_named():
    assert python("import crewgraph; print(crewgraph.llm.prices.register, crewgraph.tools.BaseTool)")


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module `crewgraph` has no attribute `Crwe`"):
        crewgraph.Crwe  # type: ignore[attr-defined] # noqa: B018
