"""Optional features load only with the definitions that use them."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

import crewgraph
from crewgraph import extras
from crewgraph.contrib.snapshots.described import describe_definition, recreate_definition
from crewgraph.errors import MissingExtra
from crewgraph.extensions import EXTENSIONS, extension
from crewgraph.former_names import current_name

ROOT = Path(crewgraph.__file__).parent

PLAIN_RUN = """
import sys
from crewgraph import Agent, Crew, ScriptedLLM, Task

agent = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(["Final Answer: six"]))
crew = Crew(agents=[agent], tasks=[Task(description="d", expected_output="e", agent=agent)])
assert crew.kickoff(inputs={"day": "Monday"}).raw == "six"
unused = ("crewgraph.contrib", "crewgraph.definitions.flow.flow", "crewgraph.compiler.flow.graph", "faiss", "numpy")
print([name for name in sys.modules if name.startswith(unused)])
"""


def test_a_crew_without_extras_flows_and_vectors_loads_none():
    run = subprocess.run([sys.executable, "-c", PLAIN_RUN], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def _imports(nodes: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that are carried out: not those for type checkers alone."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from _imports(ast.iter_child_nodes(node))


def test_nothing_imports_an_extra():
    imports = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(ROOT.rglob("*.py"))
        if not path.is_relative_to(ROOT / "contrib")
        for node in _imports([ast.parse(path.read_text("utf-8"))])
        if any(
            name.startswith("crewgraph.contrib")
            for name in [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
        )
    ]
    assert imports == []


@pytest.mark.parametrize("name", EXTENSIONS)
def test_each_extension_is_where_the_table_says(name: str):
    assert extension(name) is not None


@pytest.mark.parametrize(
    ("former", "today"),
    [
        ("crewgraph.files.file:ImageFile", "crewgraph.contrib.files.file:ImageFile"),
        ("crewgraph.files.source:FilePath", "crewgraph.contrib.files.file:FilePath"),
        ("crewgraph.skills.skill:Skill", "crewgraph.contrib.skills.skill:Skill"),
        ("crewgraph.tools.a2a.config:A2AClientConfig", "crewgraph.contrib.a2a.config:A2AClientConfig"),
        ("crewgraph.tools.a2a.oauth:OAuth2ClientCredentials", "crewgraph.contrib.a2a.auth:OAuth2ClientCredentials"),
        ("crewgraph.tools.a2a.transport:ClientTransportConfig", "crewgraph.contrib.a2a.config:ClientTransportConfig"),
        ("crewgraph.tools.a2a.updates:PollingConfig", "crewgraph.contrib.a2a.config:PollingConfig"),
        ("crewgraph.tools.input_file:ReadFileTool", "crewgraph.contrib.files.agent_files:ReadFileTool"),
        ("crewgraph.task:Task", "crewgraph.task:Task"),
    ],
)
def test_a_class_that_moved_is_found_by_the_name_that_documents_hold(former: str, today: str):
    assert current_name(former) == today
    module, _, name = today.partition(":")
    assert getattr(import_module(module), name).__module__ == module


def test_a_definition_that_was_stored_before_is_read(tmp_path: Path):
    (tmp_path / "chart.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    file = extension("files.read")({"chart": str(tmp_path / "chart.png")})["chart"]
    stored = describe_definition(file)
    for thing in stored["things"]:
        thing["class"] = thing["class"].replace("crewgraph.contrib.", "crewgraph.")
    assert stored["things"][0]["class"] == "crewgraph.files.file:ImageFile"
    assert recreate_definition(stored) == file


@pytest.mark.parametrize(("package", "name", "extra"), [("queue", "Queue", "queue"), ("serve", "serve_app", "serve")])
def test_a_name_whose_packages_are_missing_is_reported_with_the_pip_line(
    package: str, name: str, extra: str, monkeypatch: pytest.MonkeyPatch
):
    module = import_module(f"crewgraph.contrib.{package}")

    def missing(name: str) -> None:
        raise ImportError(name, name=name)

    monkeypatch.delattr(module, name, raising=False)
    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=rf'`{name}` needs the package .* pip install "crewgraph\[{extra}\]"'):
        getattr(module, name)
