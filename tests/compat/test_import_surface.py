import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import crewgraph_compat
import pytest
from crewgraph_compat.surface.facade import Facade

import crewgraph
from crewgraph.deprecations import Outdated
from crewgraph.errors import CrewgraphError


def run(program: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(program, names)
    return names


def traces() -> list[str]:
    finders = [repr(f) for f in sys.meta_path if type(f).__module__.startswith("crewgraph_compat")]
    return finders + [name for name in sys.modules if name.partition(".")[0] == "crewai"]


@pytest.fixture
def surface() -> Iterator[None]:
    with crewgraph_compat.installed():
        yield
    assert traces() == []


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A stand-in for an installed crewai."""
    package = tmp_path / "crewai"
    (package / "theirs").mkdir(parents=True)
    (package / "__init__.py").write_text("REAL = True\nclass Agent: pass\n")
    (package / "theirs" / "__init__.py").write_text("REAL = True\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == "crewai"]:
        del sys.modules[name]


@pytest.mark.usefixtures("surface")
def test_a_name_of_crewai_is_the_name_of_crewgraph():
    names = run("from crewai import Agent, Crew, Task, Process, LLM, BaseLLM, CrewOutput, TaskOutput")
    assert all(names[name] is getattr(crewgraph, name) for name in names if name != "__builtins__")


@pytest.mark.usefixtures("surface")
def test_the_instrumentor_of_openinference_listens_to_events_unless_it_is_told_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    package = tmp_path / "openinference" / "instrumentation" / "crewai"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "class CrewAIInstrumentor:\n    def _instrument(self, **given): return given\n"
        "    def instrument(self, **given): return self._instrument(**given)\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in [name for name in sys.modules if name.partition(".")[0] == "openinference"]:
        monkeypatch.delitem(sys.modules, name)
    made = run("from openinference.instrumentation.crewai import CrewAIInstrumentor")["CrewAIInstrumentor"]()
    assert made.instrument(config=1) == {"config": 1, "use_event_listener": True}
    assert made.instrument(use_event_listener=False) == {"use_event_listener": False}
    for name in [name for name in sys.modules if name.partition(".")[0] == "openinference"]:
        del sys.modules[name]


@pytest.mark.usefixtures("surface")
def test_every_spelling_of_an_import_works():
    run(
        """
import crewai
import crewai.tools
import crewai.tasks.task_output as output
from crewai import tools, task
from crewai.tools import BaseTool, tool
from crewai.agents.agent_builder.base_agent import BaseAgent
assert crewai.tools.BaseTool is BaseTool is tools.BaseTool
assert crewai.events.event_bus.crewai_event_bus is crewai.events.crewai_event_bus
assert output.TaskOutput is crewai.TaskOutput is task.TaskOutput
assert issubclass(crewai.Agent, BaseAgent)
"""
    )


@pytest.mark.usefixtures("surface")
def test_flows_are_found_wherever_programs_look_for_them():
    run(
        """
import crewai
from crewai import Flow
from crewai.flow import Flow as InPackage, and_, listen, or_, persist, router, start
from crewai.flow.flow import Flow as InModule, FlowState, and_, listen, or_, router, start
from crewai.flow.persistence import FlowPersistence, persist
from crewai.flow.persistence.base import FlowPersistence as InBase
from crewai.flow.persistence.decorators import persist as in_decorators
from crewai.flow.flow_wrappers import ListenMethod, RouterMethod, StartMethod
assert Flow is InPackage is InModule is crewai.flow.flow.Flow
assert FlowPersistence is InBase and persist is in_decorators
"""
    )


@pytest.mark.usefixtures("surface")
def test_star_imports_what_all_lists():
    names = set(run("from crewai import *")) - {"__builtins__"}
    assert names == {
        "Agent", "BaseLLM", "CheckpointConfig", "ConditionalTask", "Crew", "CrewOutput", "Flow", "Knowledge",
        "LLM", "LLMGuardrail", "Memory", "PlanningConfig", "Process", "RuntimeState", "Task", "TaskOutput",
        "Telemetry", "__version__",
    }  # fmt: skip
    assert {"ChatState", "ConversationConfig", "Flow", "flow_config", "persist"} <= set(
        run("from crewai.flow import *")
    )
    assert {"SkillUsedEvent", "TaskStartedEvent"} <= set(run("from crewai.events import *"))
    assert set(run("from crewai.tools import *")) - {"__builtins__"} == {
        "BaseTool", "EnvVar", "ToolExecutionFailedError", "ToolFailure", "ToolFailurePolicy", "ToolFailureReason",
        "ToolFailureRecord", "tool",
    }  # fmt: skip


@pytest.mark.usefixtures("surface")
def test_a_name_is_not_hidden_by_the_submodule_of_that_name():
    with pytest.warns(Outdated, match="`crewai.utilities.events`: import from `crewai.events`"):
        run(
            """
from crewai.events import crewai_event_bus as bus
from crewai.utilities.events.crewai_event_bus import crewai_event_bus as one
from crewai.utilities.events import crewai_event_bus as two
assert bus is one is two
"""
        )


def test_a_program_may_ask_whether_there_is_a_module(theirs: Path):
    with crewgraph_compat.installed():
        found = {
            name: importlib.util.find_spec(name) is not None for name in ("crewai.task", "crewai.nope", "crewai.theirs")
        }
    assert found == {"crewai.task": True, "crewai.nope": False, "crewai.theirs": False}


def test_the_version_that_is_installed_is_that_of_the_module_while_crewgraph_stands_in(theirs: Path):
    information = theirs.parent / "crewai-0.5.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: crewai\nVersion: 0.5.0\n")
    assert metadata.version("crewai") == "0.5.0"
    with crewgraph_compat.installed():
        assert metadata.version("crewai") == metadata.version("CrewAI") == importlib.import_module("crewai").__version__
        assert metadata.requires("crewai") is metadata.files("crewai") is None
        assert metadata.version("pydantic") != metadata.version("crewai")
    assert metadata.version("crewai") == "0.5.0"


@pytest.mark.usefixtures("surface")
@pytest.mark.parametrize(
    ("program", "kind", "reported"),
    [
        ("from crewai import Nope", ImportError, "`crewai.Nope` is not provided by crewgraph"),
        ("from crewai import Agemt", ImportError, "Did you mean `Agent`?"),
        ("from crewai import BaseTool", ImportError, "There is `crewai.tools.BaseTool`."),
        ("from crewai.telemetry import utils", ImportError, "sends no telemetry"),
        ("import crewai; crewai.Nope", AttributeError, "`crewai.Nope` is not provided by crewgraph"),
        ("import crewai.telemetry; getattr(crewai.telemetry, 'utils')", AttributeError, "sends no telemetry"),
        ("import crewai.nope", ModuleNotFoundError, "`crewai.nope` is not provided by crewgraph"),
        ("import crewai.tolls", ModuleNotFoundError, "Did you mean `crewai.tools`?"),
        ("from crewai.cli.cli import crewai", ModuleNotFoundError, "`crewgraph --help`"),
        ("from crewai.knowledge.embedder.fastembed import FastEmbed", ModuleNotFoundError, "An embedder is"),
    ],
)
def test_what_is_missing_is_reported(program: str, kind: type[Exception], reported: str):
    with pytest.raises(ImportError if issubclass(kind, ImportError) else kind) as caught:
        run(program)
    assert type(caught.value) is kind
    assert reported in str(caught.value)
    assert "which stands in for crewai here" in str(caught.value)


@pytest.mark.usefixtures("surface")
def test_a_missing_name_is_reported_wherever_it_is_in_an_import():
    # Above 255 names the argument of Python's instruction does not fit in one of them.
    many = "\n".join(f"name{n} = {n}" for n in range(300))
    with pytest.raises(ImportError, match=r"`crewai\.Nope` is not provided"):
        run(f"{many}\nfrom crewai import Agent, Crew, Nope")
    with pytest.raises(ImportError, match=r"`crewai\.Nope` is not provided"):
        run("def inside():\n    from crewai import Nope\ninside()")


@pytest.mark.usefixtures("surface")
def test_asking_whether_a_name_is_there_is_answered_without_an_error():
    crewai = importlib.import_module("crewai")
    assert hasattr(crewai, "Agent")
    assert not hasattr(crewai, "Nope")
    assert getattr(crewai, "Nope", None) is None
    assert not hasattr(crewai, "__wrapped__")
    assert run("try:\n    from crewai import Nope\nexcept ImportError:\n    Nope = None")["Nope"] is None


@pytest.mark.usefixtures("surface")
def test_a_facade_tells_tools_where_it_is_from():
    crewai = importlib.import_module("crewai")
    tools = importlib.import_module("crewai.tools")
    assert Path(str(crewai.__file__)).is_file()
    assert Path(str(crewai.__file__)).parts[-3:] == ("crewgraph_compat", "surface", "table.py")
    assert crewai.__path__ == []
    assert crewai.__name__ == "crewai" and tools.__package__ == "crewai.tools"
    spec = importlib.util.find_spec("crewai.tools")
    assert spec is not None and spec.name == "crewai.tools" and tools.__spec__ is not None
    assert "crewgraph" in (crewai.__doc__ or "")
    assert "BaseTool" in inspect.getsource(tools)
    assert {"Agent", "Crew", "tools", "events", "__version__"} <= set(dir(crewai))
    assert "base_tool" not in dir(crewai)
    assert dict(inspect.getmembers(crewai))["Agent"] is crewgraph.Agent
    assert inspect.getmodule(crewai.Agent) is sys.modules["crewgraph.agent"]


def test_nothing_is_there_before_install_and_after_uninstall():
    assert traces() == [] and not crewgraph_compat.is_installed()
    crewgraph_compat.install()
    crewgraph_compat.install()
    assert crewgraph_compat.is_installed()
    run("from crewai.tools import BaseTool; import crewai.events.types.crew_events")
    ours = [type(f).__name__ for f in sys.meta_path if type(f).__module__.startswith("crewgraph_compat")]
    assert ours == ["Finder", "ToolsFinder", "FilesFinder"]
    crewgraph_compat.uninstall()
    crewgraph_compat.uninstall()
    assert traces() == [] and not crewgraph_compat.is_installed()
    assert importlib.util.find_spec("crewai") is None


def test_a_block_uninstalls_unless_it_was_installed_for_good():
    with crewgraph_compat.installed():
        with crewgraph_compat.installed():
            pass
        assert crewgraph_compat.is_installed()
    assert not crewgraph_compat.is_installed()
    crewgraph_compat.install()
    try:
        with crewgraph_compat.installed():
            pass
        assert crewgraph_compat.is_installed()
    finally:
        crewgraph_compat.uninstall()


def test_it_wins_over_an_installed_crewai_and_gives_it_back(theirs: Path):
    with crewgraph_compat.installed():
        crewai = importlib.import_module("crewai")
        assert isinstance(crewai, Facade) and not hasattr(crewai, "REAL")
        assert crewai.Agent is crewgraph.Agent
        with pytest.raises(ModuleNotFoundError, match=r"`crewai\.theirs` is not provided"):
            importlib.import_module("crewai.theirs")
    crewai = importlib.import_module("crewai")
    assert crewai.REAL is True and Path(str(crewai.__file__)).parent == theirs
    assert importlib.import_module("crewai.theirs").REAL is True


def test_it_refuses_when_crewai_itself_is_imported(theirs: Path):
    importlib.import_module("crewai")
    with pytest.raises(crewgraph_compat.CrewaiImported, match="already imported") as caught:
        crewgraph_compat.install()
    assert str(theirs / "__init__.py") in str(caught.value) and "crewgraph run" in str(caught.value)
    assert isinstance(caught.value, CrewgraphError) and isinstance(caught.value, ImportError)
    with pytest.raises(crewgraph_compat.CrewaiImported), crewgraph_compat.installed():
        pass
    assert not crewgraph_compat.is_installed()
    assert importlib.import_module("crewai").REAL is True
