"""Conversion of everything that users may pass as `knowledge_sources` to sources."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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
from crewgraph.schema import PlainDict, is_mapping

_BY_SUFFIX: PlainDict = {
    ".txt": TextFileKnowledgeSource,
    ".md": MarkdownKnowledgeSource,
    ".markdown": MarkdownKnowledgeSource,
    ".csv": CSVKnowledgeSource,
    ".json": JSONKnowledgeSource,
    ".jsonl": JSONKnowledgeSource,
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


def as_sources(values: Iterable[object]) -> list[Any]:
    """Convert values to sources.

    A text is itself the knowledge, unless it is an address (`https://...`) or a file name: one word with a supported suffix. A
    `Path` is a file. A dict holds the fields of a source, including its `source_type`. LangChain retrievers, document loaders and
    documents are accepted, too.

    Raises:
        SourceError: a source cannot be used.
        ValueError: a value is not a source.
    """
    sources: list[Any] = []
    for value in values:
        if is_document(value):
            if not (sources and isinstance(sources[-1], DocumentsKnowledgeSource) and sources[-1].loader is None):
                sources.append(DocumentsKnowledgeSource())
            sources[-1].documents.append(value)
        else:
            sources.append(_source_of(value))
    return sources


def _source_of(value: Any) -> BaseKnowledgeSource:
    if isinstance(value, BaseKnowledgeSource):
        return value
    if isinstance(value, str) and _ADDRESS.fullmatch(value):
        return URLKnowledgeSource(urls=[value])
    if isinstance(value, Path) or (
        isinstance(value, str) and _FILE_NAME.fullmatch(value) and _suffix(value) in _BY_SUFFIX
    ):
        return _file_source(value)
    if isinstance(value, str):
        return StringKnowledgeSource(content=value)
    if is_mapping(value):
        return _source_from_dict(dict(value))
    if is_retriever(value):
        return RetrieverKnowledgeSource(retriever=value)
    if is_loader(value):
        return DocumentsKnowledgeSource(loader=value)
    if callable(getattr(value, "as_retriever", None)):
        raise ValueError(f"a `{type(value).__name__}` is not a source of knowledge: write `store.as_retriever()`")
    raise ValueError(
        f"{value!r:.80} is not a source of knowledge; pass a text, a `Path`, a source (`PDFKnowledgeSource(...)`), or a "
        "LangChain retriever, loader or document"
    )


def _suffix(name: str | Path) -> str:
    return Path(name).suffix.lower()


def _file_source(name: str | Path) -> BaseKnowledgeSource:
    kind = _BY_SUFFIX.get(_suffix(name))
    if kind is None:
        raise ValueError(f"files that end as `{name}` are not read as knowledge; there are {', '.join(_BY_SUFFIX)}")
    source: BaseKnowledgeSource = kind(file_paths=[name])
    return source


def _source_from_dict(fields: dict[str, Any]) -> BaseKnowledgeSource:
    kind = _BY_TYPE.get(str(fields.get("source_type")))
    if kind is None:
        raise ValueError(
            f"a source given as a dict needs a `source_type`, one of {', '.join(_BY_TYPE)}, not "
            f"{fields.get('source_type')!r}"
        )
    return kind(**fields)
