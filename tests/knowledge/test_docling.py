"""Documents that Docling reads; a module of the test stands in its place, for it is larger than everything else together."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from crewgraph.errors import MissingExtra, SourceError, SourceNotFound, SourceRefused
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.source.documents import CrewDoclingSource


class _ConversionError(RuntimeError):
    pass


class _Converter:
    def convert(self, source: Any) -> Any:
        data = source.read_bytes() if isinstance(source, Path) else source.stream.read()
        if data == b"broken":
            raise _ConversionError("not a document")
        return SimpleNamespace(document=data.decode())


class _Chunker:
    def chunk(self, document: str) -> list[Any]:
        return [SimpleNamespace(text=part) for part in document.split("\n")]


@pytest.fixture
def docling(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: dict[str, dict[str, Any]] = {
        "docling": {},
        "docling.document_converter": {"DocumentConverter": _Converter},
        "docling.datamodel": {},
        "docling.datamodel.base_models": {"DocumentStream": SimpleNamespace},
        "docling_core": {},
        "docling_core.transforms": {},
        "docling_core.transforms.chunker": {},
        "docling_core.transforms.chunker.hierarchical_chunker": {"HierarchicalChunker": _Chunker},
    }
    for name, members in parts.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.usefixtures("docling")
def test_documents_are_cut_at_their_own_structure(folder: Path):
    (folder / "a.docx").write_text("One.\nTwo.")
    source = CrewDoclingSource(file_paths=["a.docx"])
    assert source.passages() == [Passage("One.", {"source": "a.docx"}), Passage("Two.", {"source": "a.docx"})]
    assert source.content == ["One.\nTwo."] and source.safe_file_paths == [Path("knowledge/a.docx")]


@pytest.mark.usefixtures("docling")
def test_what_docling_cannot_read_is_reported(folder: Path):
    (folder / "a.docx").write_text("broken")
    with pytest.raises(SourceError, match="not a readable document for Docling: _ConversionError: not a doc"):
        CrewDoclingSource(file_paths=["a.docx"]).passages()


@pytest.mark.usefixtures("docling")
def test_its_files_and_addresses_are_bounded_as_all_are(folder: Path, tmp_path: Path):
    (tmp_path / "b.docx").write_text("x")
    with pytest.raises(SourceNotFound):
        CrewDoclingSource(file_paths=["nope.docx"])
    with pytest.raises(SourceRefused):
        CrewDoclingSource(file_paths=[tmp_path / "b.docx"])
    with pytest.raises(SourceRefused, match="private network"):
        CrewDoclingSource(file_paths=["http://127.0.0.1/a.pdf"]).passages()
    with pytest.raises(SourceError, match="needs `file_paths`"):
        CrewDoclingSource()


def test_without_docling_the_pip_line_is_reported(folder: Path):
    (folder / "a.docx").write_text("x")
    with pytest.raises(MissingExtra, match=r'pip install "crewgraph\[docling\]"'):
        CrewDoclingSource(file_paths=["a.docx"]).passages()
