"""What becomes of a crewai_tools that is installed, shown on small packages of that name, and of one that is not."""

import importlib
import importlib.util
import inspect
import os
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import crewgraph_compat
import pytest

import crewgraph.tools
from crewgraph.deprecations import Outdated
from crewgraph.errors import MissingExtra

Write = Callable[..., None]


def run(program: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(program, "program.py", "exec"), names)
    return names


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes modules of an installed crewai_tools: `write(rag_core="import chromadb")` is `crewai_tools.rag.core`."""
    home = tmp_path / "crewai_tools"

    def write(**modules: str) -> None:
        for name, text in {"__init__": "", **modules}.items():
            file = home / f"{name.replace('__', '/') if name != '__init__' else name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            for folder in (file.parent, *file.parent.parents):
                if folder.is_relative_to(home) and not (folder / "__init__.py").exists():
                    (folder / "__init__.py").write_text("")
            file.write_text(text)
        importlib.invalidate_caches()

    def loaded() -> dict[str, Any]:
        return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "crewai_tools"}

    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    others = loaded()  # of another test, which still has the real package
    for name in others:
        monkeypatch.delitem(sys.modules, name)
    with crewgraph_compat.installed():
        yield write
        if others:
            for name in loaded():
                del sys.modules[name]
    assert not loaded()


def test_the_old_names_are_there_and_told_once(package: Write):
    package(__init__="from crewai.tools import EnvVar\n__version__ = '9.9'")
    with pytest.warns(Outdated) as reported:
        names = run("from crewai_tools import BaseTool, tool\nfrom crewai_tools import BaseTool as Again")
    assert names["BaseTool"] is names["Again"] is crewgraph.tools.BaseTool and names["tool"] is crewgraph.tools.tool
    assert [str(one.message) for one in reported] == [
        "`from crewai_tools import BaseTool` is from an older crewai_tools: write `from crewai.tools import BaseTool`. "
        "`crewgraph migrate` rewrites it in code.",
        "`from crewai_tools import tool` is from an older crewai_tools: write `from crewai.tools import tool`. "
        "`crewgraph migrate` rewrites it in code.",
    ]
    assert {one.filename for one in reported} == {"program.py"}


def test_where_the_base_of_tools_stood_it_is_crewgraphs(package: Write):
    package(tools__one="from crewai_tools.tools.base_tool import BaseTool, Tool, tool")
    one = importlib.import_module("crewai_tools.tools.one")
    assert one.BaseTool is crewgraph.tools.BaseTool and one.tool is crewgraph.tools.tool
    with pytest.warns(Outdated, match="write `from crewai.tools.base_tool import Tool`"):
        assert run("from crewai_tools import Tool")["Tool"] is one.Tool


def test_names_that_the_package_has_itself_are_its_own(package: Write):
    package(__init__="BaseTool = 1")
    assert importlib.import_module("crewai_tools").BaseTool == 1


def test_a_name_that_it_has_not_is_reported_with_its_version(package: Write):
    package(__init__="__version__ = '9.9'")
    with pytest.raises(ImportError, match=r"The installed crewai_tools \(9\.9\) has no `Nope`"):
        run("from crewai_tools import Nope")
    with pytest.raises(AttributeError, match="has no `Nope`"):
        _ = importlib.import_module("crewai_tools").Nope
    assert not hasattr(importlib.import_module("crewai_tools"), "Nope")


@pytest.mark.skipif(importlib.util.find_spec("chromadb") is not None, reason="`chromadb` is installed")
def test_a_package_that_hardly_anything_needs_may_be_missing(package: Write):
    package(rag__core="import chromadb\nfrom chromadb.api import Client\nNOW = Client | None")
    package(rag__other="import chromadb")
    core = importlib.import_module("crewai_tools.rag.core")
    with pytest.raises(MissingExtra, match="pip install chromadb"):
        core.Client("x")
    with pytest.raises(MissingExtra, match="`chromadb.PersistentClient` is required here"):
        core.chromadb.PersistentClient()
    assert "chromadb" not in sys.modules
    with pytest.raises(ModuleNotFoundError, match="chromadb"):
        importlib.import_module("crewai_tools.rag.other")


def test_a_package_that_is_needed_is_reported_with_the_pip_line(package: Write):
    package(deep="import a_package_nobody_has", __init__="import crewai_tools.deep")
    with pytest.raises(ModuleNotFoundError, match="a_package_nobody_has") as caught:
        importlib.import_module("crewai_tools")
    assert len(caught.value.__notes__) == 1 and "pip install --no-deps crewai-tools" in caught.value.__notes__[0]


def test_what_it_asks_of_crewai_is_not_told_as_a_package_to_install(package: Write):
    package(__init__="import crewai.nothing_of_this_name")
    with pytest.raises(ModuleNotFoundError, match="is not provided by crewgraph") as caught:
        importlib.import_module("crewai_tools")
    assert not hasattr(caught.value, "__notes__")


def test_its_source_can_be_read(package: Write):
    package(tools__one="def told():\n    return 'here'\n")
    one = importlib.import_module("crewai_tools.tools.one")
    assert "return 'here'" in inspect.getsource(one.told)


_OLD = "crewai_tools.tools.rag.rag_tool"


def test_search_tools_take_the_older_form_of_their_configuration(package: Write):
    package(tools__rag__rag_tool="class RagTool:\n    def __init__(self, config=None):\n        self.config = config\n")
    made = importlib.import_module(_OLD).RagTool
    with pytest.warns(Outdated) as reported:
        old = made(
            config={
                "llm": {"provider": "ollama"},
                "embedder": {"provider": "ollama", "config": {"model": "nomic"}},
                "vectordb": {"provider": "chroma", "config": {"dir": "db"}},
            }
        )
    assert old.config == {
        "embedding_model": {"provider": "ollama", "config": {"model": "nomic"}},
        "vectordb": {"provider": "chromadb", "config": {"settings": {"persist_directory": "db"}}},
    }
    assert len(reported) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new: Any = {"embedding_model": {"provider": "local"}, "vectordb": {"provider": "qdrant", "config": {}}}
        assert made(config=new).config == new and made().config is None


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Runs a program where all that is installed here is, but crewai_tools."""
    folder = tmp_path_factory.mktemp("packages")
    for path in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(path).iterdir():
            if not entry.name.startswith("crewai") and not (folder / entry.name).exists():
                (folder / entry.name).symlink_to(entry)
    root = Path(__file__).parents[2]

    def run(program: str) -> subprocess.CompletedProcess[str]:
        text = f"import crewgraph_compat; crewgraph_compat.install()\n{program}"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "compat"), str(folder)])}
        return subprocess.run(
            [sys.executable, "-S", "-c", text],
            capture_output=True,
            text=True,
            env=environment,
            timeout=250,
            check=False,
        )

    return run


def test_without_the_package_its_old_names_work(without: Callable[[str], subprocess.CompletedProcess[str]]):
    done = without(
        "from crewai_tools import BaseTool, tool\n"
        "import crewai.tools as t; assert BaseTool is t.BaseTool and tool is t.tool\n"
        "import crewgraph_compat, sys; crewgraph_compat.uninstall(); assert 'crewai_tools' not in sys.modules; print('done')"
    )
    assert done.stdout == "done\n", done.stderr
    assert done.stderr.count("Outdated") == 2


@pytest.mark.parametrize(
    "program",
    [
        "from crewai_tools import SerperDevTool",
        "import crewai_tools.tools.rag.rag_tool",
        "import crewai_tools; crewai_tools.X",
    ],
)
def test_without_the_package_other_names_are_reported_with_the_pip_line(
    program: str, without: Callable[[str], subprocess.CompletedProcess[str]]
):
    done = without(program)
    assert done.returncode == 1
    assert "crewai_tools, which is not installed" in done.stderr
    assert "pip install --no-deps crewai-tools" in done.stderr


def test_without_the_package_a_program_that_can_do_without_it_continues(
    without: Callable[[str], subprocess.CompletedProcess[str]],
):
    done = without("try:\n    from crewai_tools import FileReadTool\nexcept ImportError:\n    print('none')")
    assert done.stdout == "none\n"
