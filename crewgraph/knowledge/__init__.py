"""What agents know: sources of texts, and the search in them."""

from typing import TYPE_CHECKING, Any

from crewgraph.extras import load

if TYPE_CHECKING:
    from crewgraph.knowledge.knowledge import Knowledge
    from crewgraph.knowledge.passage import KnowledgeConfig, SearchResult
    from crewgraph.knowledge.source.base import (
        BaseFileKnowledgeSource,
        BaseKnowledgeSource,
        StringKnowledgeSource,
        TextFileKnowledgeSource,
    )
    from crewgraph.knowledge.source.documents import CrewDoclingSource, ExcelKnowledgeSource, PDFKnowledgeSource
    from crewgraph.knowledge.source.langchain import DocumentsKnowledgeSource, RetrieverKnowledgeSource
    from crewgraph.knowledge.source.text_files import CSVKnowledgeSource, JSONKnowledgeSource, MarkdownKnowledgeSource
    from crewgraph.knowledge.source.url import URLKnowledgeSource
    from crewgraph.knowledge.storage import BaseKnowledgeStorage, KnowledgeStorage

__all__ = [
    "BaseFileKnowledgeSource",
    "BaseKnowledgeSource",
    "BaseKnowledgeStorage",
    "CSVKnowledgeSource",
    "CrewDoclingSource",
    "DocumentsKnowledgeSource",
    "ExcelKnowledgeSource",
    "JSONKnowledgeSource",
    "Knowledge",
    "KnowledgeConfig",
    "KnowledgeStorage",
    "MarkdownKnowledgeSource",
    "PDFKnowledgeSource",
    "RetrieverKnowledgeSource",
    "SearchResult",
    "StringKnowledgeSource",
    "TextFileKnowledgeSource",
    "URLKnowledgeSource",
]

_WHERE = {
    "BaseFileKnowledgeSource": "crewgraph.knowledge.source.base",
    "BaseKnowledgeSource": "crewgraph.knowledge.source.base",
    "BaseKnowledgeStorage": "crewgraph.knowledge.storage",
    "CSVKnowledgeSource": "crewgraph.knowledge.source.text_files",
    "CrewDoclingSource": "crewgraph.knowledge.source.documents",
    "DocumentsKnowledgeSource": "crewgraph.knowledge.source.langchain",
    "ExcelKnowledgeSource": "crewgraph.knowledge.source.documents",
    "JSONKnowledgeSource": "crewgraph.knowledge.source.text_files",
    "Knowledge": "crewgraph.knowledge.knowledge",
    "KnowledgeConfig": "crewgraph.knowledge.passage",
    "KnowledgeStorage": "crewgraph.knowledge.storage",
    "MarkdownKnowledgeSource": "crewgraph.knowledge.source.text_files",
    "PDFKnowledgeSource": "crewgraph.knowledge.source.documents",
    "RetrieverKnowledgeSource": "crewgraph.knowledge.source.langchain",
    "SearchResult": "crewgraph.knowledge.passage",
    "StringKnowledgeSource": "crewgraph.knowledge.source.base",
    "TextFileKnowledgeSource": "crewgraph.knowledge.source.base",
    "URLKnowledgeSource": "crewgraph.knowledge.source.url",
}

if not TYPE_CHECKING:  # type checkers know all names, and are to tell of others

    def __getattr__(name: str) -> Any:
        # Agents and crews are declared without any of these.
        if name not in _WHERE:
            raise AttributeError(f"module `crewgraph.knowledge` has no attribute `{name}`")
        return getattr(load(_WHERE[name]), name)
