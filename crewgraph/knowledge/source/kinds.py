"""Anything that users give as sources, as sources."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from crewgraph.knowledge.source.base import BaseKnowledgeSource, StringKnowledgeSource, TextFileKnowledgeSource
from crewgraph.knowledge.source.documents import CrewDoclingSource, ExcelKnowledgeSource, PDFKnowledgeSource
from crewgraph.knowledge.source.langchain import (
    DocumentsKnowledgeSource,
    RetrieverKnowledgeSource,
    is_document,
    is_loader,
    is_retriever,
)
from crewgraph.knowledge.source.text_files import CSVKnowledgeSource, JSONKnowledgeSource, MarkdownKnowledgeSource
from crewgraph.knowledge.source.url import URLKnowledgeSource

__all__ = ["SourceKinds", "as_sources"]


_BY_ENDING: dict[str, Any] = {
    ".txt": TextFileKnowledgeSource,
    ".md": MarkdownKnowledgeSource,
    ".markdown": MarkdownKnowledgeSource,
    ".csv": CSVKnowledgeSource,
    ".json": JSONKnowledgeSource,
    ".pdf": PDFKnowledgeSource,
    ".xlsx": ExcelKnowledgeSource,
    ".docx": CrewDoclingSource,
    ".pptx": CrewDoclingSource,
    ".html": CrewDoclingSource,
}

_BY_TYPE: dict[str, type[BaseKnowledgeSource]] = {
    "string": StringKnowledgeSource,
    "text_file": TextFileKnowledgeSource,
    "markdown": MarkdownKnowledgeSource,
    "csv": CSVKnowledgeSource,
    "json": JSONKnowledgeSource,
    "pdf": PDFKnowledgeSource,
    "excel": ExcelKnowledgeSource,
    "docling": CrewDoclingSource,
    "url": URLKnowledgeSource,
}

_ADDRESS = re.compile(r"https?://\S+")
_FILE_NAME = re.compile(r"[^\s]+\.\w+")


def as_sources(given: Iterable[Any]) -> list[Any]:
    """Sources: as they are, or of what stands for one.

    A text is what agents know, unless it is an address (`https://...`) or the name of a file, one word with the ending of a
    kind that is read. A `Path` is a file. A dict holds the fields of a source, with its `source_type`. LangChain retrievers,
    document loaders and documents are taken, too.

    Raises:
        SourceError: a source cannot be used.
        ValueError: something is no source.
    """
    made: list[Any] = []
    for one in given:
        if is_document(one):
            if not (made and isinstance(made[-1], DocumentsKnowledgeSource) and made[-1].loader is None):
                made.append(DocumentsKnowledgeSource())
            made[-1].documents.append(one)
        else:
            made.append(_as_source(one))
    return made


def _as_source(one: Any) -> BaseKnowledgeSource:
    if isinstance(one, BaseKnowledgeSource):
        return one
    if isinstance(one, str) and _ADDRESS.fullmatch(one):
        return URLKnowledgeSource(urls=[one])
    if isinstance(one, Path) or (isinstance(one, str) and _FILE_NAME.fullmatch(one) and _ending(one) in _BY_ENDING):
        return _of_file(one)
    if isinstance(one, str):
        return StringKnowledgeSource(content=one)
    if isinstance(one, Mapping):
        return _described(dict(cast(Mapping[str, Any], one)))
    if is_retriever(one):
        return RetrieverKnowledgeSource(retriever=one)
    if is_loader(one):
        return DocumentsKnowledgeSource(loader=one)
    raise ValueError(
        f"{one!r:.80} is no source of knowledge; give a text, a `Path`, a source (`PDFKnowledgeSource(...)`), or a LangChain "
        "retriever, loader or document"
    )


def _ending(name: str | Path) -> str:
    return Path(name).suffix.lower()


def _of_file(name: str | Path, **given: Any) -> BaseKnowledgeSource:
    kind = _BY_ENDING.get(_ending(name))
    if kind is None:
        raise ValueError(f"files that end as `{name}` are not read as knowledge; there are {', '.join(_BY_ENDING)}")
    made: BaseKnowledgeSource = kind(file_paths=[name], **given)
    return made


def _described(fields: dict[str, Any]) -> BaseKnowledgeSource:
    kind = _BY_TYPE.get(str(fields.get("source_type")))
    if kind is None:
        raise ValueError(
            f"a source that is given as a dict says its `source_type`, one of {', '.join(_BY_TYPE)}, not "
            f"{fields.get('source_type')!r}"
        )
    return kind(**fields)


class SourceKinds:
    """CrewAI's name for sources of files by their ending."""

    SUPPORTED_FILE_TYPES = tuple(_BY_ENDING)

    @classmethod
    def is_supported_file(cls, file_path: str) -> bool:
        """Whether files of this ending are read."""
        return _ending(file_path) in _BY_ENDING

    @classmethod
    def get_source(cls, file_path: str, metadata: dict[str, Any] | None = None) -> BaseKnowledgeSource:
        """The source for a file.

        Raises:
            ValueError: files of this ending are not read.
        """
        return _of_file(file_path, metadata=metadata or {})
