"""Knowledge of agents: sources of texts, and semantic search in them."""

from typing import TYPE_CHECKING

from crewgraph.lazy import lazy_exports

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

_MODULES = {
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

if not TYPE_CHECKING:  # type checkers know all names, and report others
    __getattr__ = lazy_exports(__name__, _MODULES)  # agents and crews are declared without any of these
