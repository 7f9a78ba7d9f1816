"""The real crewai_tools: tools for files and for searching, called by a model in a crew, and alone."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from modes import Mode

from crewgraph.tools import BaseTool
from crewgraph.tools.adapt import as_tool
from tools_package.parts import REAL, lacking, observed

pytestmark = [*REAL, pytest.mark.usefixtures("files")]

FERRY = "The ferry to Oslo leaves at nine in the evening."


def document(folder: Path, kind: str) -> str:
    """A PDF or DOCX file with a sentence on a ferry."""
    file = folder / f"ferry.{kind}"
    if kind == "pdf":
        drawn = importlib.import_module("pymupdf").open()
        drawn.new_page().insert_text((72, 72), FERRY)
        drawn.save(file)
    else:
        written = importlib.import_module("docx").Document()
        written.add_paragraph(FERRY)
        written.save(file)
    return file.name


def test_a_tool_of_the_package_is_a_tool_of_crewgraph(tools: Any):
    made = tools.FileReadTool()
    assert isinstance(made, BaseTool)
    assert as_tool(made).name == "read_a_files_content"


def test_a_file_is_read(mode: Mode, tools: Any, files: Path):
    assert "Wiebke Harms" in observed(mode, tools.FileReadTool(), {"file_path": "t.txt"})
    one = observed(mode, tools.FileReadTool(), {"file_path": "t.txt", "start_line": 2, "line_count": 1})
    assert "The crane is green." in one and "Wiebke" not in one
    assert "Wiebke Harms" in tools.FileReadTool(file_path=str(files / "t.txt")).run(file_path=str(files / "t.txt"))


def test_a_file_is_written(mode: Mode, tools: Any, files: Path):
    given = {"filename": "new.txt", "content": "hello", "directory": "deep", "overwrite": "true"}
    assert "successfully written" in observed(mode, tools.FileWriterTool(), given)
    assert (files / "deep" / "new.txt").read_text() == "hello"


def test_a_folder_is_listed(mode: Mode, tools: Any, files: Path):
    assert "t.txt" in observed(mode, tools.DirectoryReadTool(directory=str(files)), {})
    assert "c.csv" in observed(mode, tools.DirectoryReadTool(), {"directory": str(files)})


def test_files_are_packed(mode: Mode, tools: Any, files: Path):
    assert "Successfully" in observed(mode, tools.FileCompressorTool(), {"input_path": "t.txt", "output_path": "t.zip"})
    assert (files / "t.zip").exists()


@pytest.mark.parametrize(
    ("kind", "field", "file", "query", "found"),
    [
        ("TXTSearchTool", "txt", "t.txt", "harbour master of Kiel", "Wiebke Harms"),
        ("JSONSearchTool", "json_path", "b.json", "boats in the port of Husum", '"Otto"'),
        ("CSVSearchTool", "csv", "c.csv", "depth of the north basin", "12 metres"),
        ("MDXSearchTool", "mdx", "m.mdx", "when is high tide", "at noon on Mondays"),
        ("XMLSearchTool", "xml", "x.xml", "who keeps the lock", "Wiebke keeps"),
    ],
)
def test_a_file_is_searched(
    mode: Mode, tools: Any, storage: Path, kind: str, field: str, file: str, query: str, found: str
):
    make = getattr(tools, kind)
    assert found in observed(mode, make(), {"search_query": query, field: file})
    assert found in observed(mode, make(**{field: file}), {"search_query": query})
    assert found in make().run(query, file)
    assert (storage / "rag.db").exists()


@pytest.mark.parametrize(
    ("kind", "field", "query_field", "suffix"),
    [
        pytest.param("PDFSearchTool", "pdf", "query", "pdf", marks=lacking("pymupdf")),
        pytest.param("DOCXSearchTool", "docx", "search_query", "docx", marks=lacking("docx")),
    ],
)
def test_a_document_is_searched(
    mode: Mode, tools: Any, files: Path, kind: str, field: str, query_field: str, suffix: str
):
    name = document(files, suffix)
    make = getattr(tools, kind)
    assert FERRY in observed(mode, make(), {query_field: "when does the ferry leave", field: name})
    assert FERRY in make(**{field: name}).run("when does the ferry leave")


def test_a_folder_is_searched(mode: Mode, tools: Any, files: Path):
    found = observed(mode, tools.DirectorySearchTool(directory="."), {"search_query": "harbour master of Kiel"})
    assert "Wiebke Harms" in found


def test_texts_are_added_and_searched(mode: Mode, tools: Any):
    made = tools.RagTool(collection_name="words", limit=1)
    kinds = importlib.import_module("crewai_tools.rag.data_types").DataType
    made.add("Ebbe is the word for low tide.", data_type=kinds.TEXT)
    made.add("t.txt", data_type=kinds.TEXT_FILE)
    assert "Ebbe" in observed(mode, made, {"query": "the word for low tide"})
    assert "Wiebke" in made.run(query="harbour master of Kiel")
    other = tools.RagTool(collection_name="other")
    assert "Ebbe" not in other.run(query="the word for low tide")


def test_a_search_tool_is_configured_in_the_words_of_now_and_of_then(tools: Any, files: Path):
    now = {
        "embedding_model": {"provider": "local", "config": {"dimensions": 512}},
        "vectordb": {"provider": "chromadb", "config": {"settings": {"persist_directory": str(files / "db")}}},
    }
    assert "noon" in tools.MDXSearchTool(mdx="m.mdx", config=now).run("when is high tide")
    assert (files / "db" / "rag.db").exists()
    then = {"llm": {"provider": "ollama"}, "embedder": {"provider": "local"}}
    with pytest.warns(UserWarning) as reported:
        assert "noon" in tools.MDXSearchTool(mdx="m.mdx", config=then).run("when is high tide")
    assert len(reported) == 2


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("crewai_tools.tools.rag.rag_tool", "RagTool"),
        ("crewai_tools.tools.rag.rag_tool", "Adapter"),
        ("crewai_tools.rag.data_types", "DataType"),
        ("crewai_tools.tools.file_writer_tool.file_writer_tool", "FileWriterTool"),
        ("crewai_tools.tools.file_writer_tool.file_writer_tool", "strtobool"),
        ("crewai_tools.tools", "SerperDevTool"),
        ("crewai_tools.adapters.mcp_adapter", "MCPServerAdapter"),
    ],
)
def test_modules_below_are_found_where_programs_look(tools: Any, module: str, name: str):
    assert getattr(importlib.import_module(module), name) is not None


def test_a_custom_adapter_is_asked(mode: Mode, tools: Any):
    base = importlib.import_module("crewai_tools.tools.rag.rag_tool").Adapter

    class Mine(base):
        def query(self, question: str, similarity_threshold: Any = None, limit: Any = None) -> str:
            return f"asked {question}"

        def add(self, *_args: Any, **_given: Any) -> None:
            pass

    assert "asked the tide" in observed(mode, tools.RagTool(adapter=Mine()), {"query": "the tide"})


_KEYS = "BRAVE BRIGHT_DATA BROWSERBASE CONTEXTUAL HYPERBROWSER MINDS PATRONUS SERPLY ZAPIER"
_EACH = """
import json, warnings
warnings.simplefilter("ignore")
import crewgraph_compat
crewgraph_compat.install()
import crewai_tools
from crewai.tools import BaseTool
from crewgraph.tools.adapt import as_tool

made, wrong = [], {}
for name in dir(crewai_tools):
    kind = getattr(crewai_tools, name)
    if isinstance(kind, type) and issubclass(kind, BaseTool):
        try:
            as_tool(kind())
            made.append(name)
        except (AssertionError, AttributeError, NameError) as error:
            wrong[name] = repr(error)
        except BaseException:
            pass  # it says in its own way which package, key or argument it lacks
print("\\n" + json.dumps([made, wrong]))
"""


def test_every_tool_can_be_made_or_says_what_it_lacks(tools: Any, files: Path):
    keys = {f"{name}_API_KEY": "key" for name in _KEYS.split()}
    path = os.pathsep.join([one for one in sys.path if one])
    done = processes.run(
        [sys.executable, "-c", _EACH],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **keys, "PYTHONPATH": path},
        check=False,
    )
    made, wrong = json.loads(done.stdout.splitlines()[-1])
    assert wrong == {}
    assert len(made) >= 35, made
