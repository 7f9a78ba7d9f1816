"""CrewAI's model modules, and `crewai_files` if it is not installed."""

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import crewgraph_compat
import pytest

from crewgraph.contrib.files.agent_files import ReadFileTool
from crewgraph.contrib.files.file import ImageFile


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    with crewgraph_compat.installed():
        yield


def named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def test_files_are_ours_where_their_package_is_not_installed():
    files = import_module("crewai_files")
    assert files.ImageFile is ImageFile
    assert import_module("crewai_files.core.types").ImageFile is ImageFile
    assert named("crewai.tools.agent_tools.read_file_tool.ReadFileTool") is ReadFileTool
    with pytest.raises(ImportError, match="never uploaded"):
        exec("from crewai_files import get_uploader", {})


def test_nothing_of_them_stays_behind():
    import_module("crewai_files.processing.exceptions")
    crewgraph_compat.uninstall()
    assert not [name for name in sys.modules if name.startswith("crewai_files")]


def test_the_tool_tells_what_there_is():
    tool = ReadFileTool()
    assert "no files" in tool.run(file_name="x")
    tool.set_files({"note": crewgraph_files(b"hello"), "data": crewgraph_files(b"\x00\xff")})
    assert tool.run(file_name="note") == "hello"
    assert "Base64: AP8=" in tool.run(file_name="data")


def crewgraph_files(data: bytes) -> Any:
    return import_module("crewai_files").File(source=data)
