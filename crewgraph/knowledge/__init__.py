"""What agents know: sources of texts, and the search in them."""

from typing import TYPE_CHECKING, Any

from crewgraph.extras import load

if TYPE_CHECKING:
    from crewgraph.knowledge.knowledge import Knowledge
    from crewgraph.knowledge.knowledge_config import KnowledgeConfig
    from crewgraph.knowledge.passage import SearchResult
    from crewgraph.knowledge.source.base_file_knowledge_source import BaseFileKnowledgeSource
    from crewgraph.knowledge.source.base_knowledge_source import BaseKnowledgeSource
    from crewgraph.knowledge.source.crew_docling_source import CrewDoclingSource
    from crewgraph.knowledge.source.csv_knowledge_source import CSVKnowledgeSource
    from crewgraph.knowledge.source.excel_knowledge_source import ExcelKnowledgeSource
    from crewgraph.knowledge.source.json_knowledge_source import JSONKnowledgeSource
    from crewgraph.knowledge.source.langchain_source import DocumentsKnowledgeSource, RetrieverKnowledgeSource
    from crewgraph.knowledge.source.markdown_knowledge_source import MarkdownKnowledgeSource
    from crewgraph.knowledge.source.pdf_knowledge_source import PDFKnowledgeSource
    from crewgraph.knowledge.source.string_knowledge_source import StringKnowledgeSource
    from crewgraph.knowledge.source.text_file_knowledge_source import TextFileKnowledgeSource
    from crewgraph.knowledge.source.url_knowledge_source import URLKnowledgeSource
    from crewgraph.knowledge.storage.base_knowledge_storage import BaseKnowledgeStorage
    from crewgraph.knowledge.storage.knowledge_storage import KnowledgeStorage

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
    "BaseFileKnowledgeSource": "crewgraph.knowledge.source.base_file_knowledge_source",
    "BaseKnowledgeSource": "crewgraph.knowledge.source.base_knowledge_source",
    "BaseKnowledgeStorage": "crewgraph.knowledge.storage.base_knowledge_storage",
    "CSVKnowledgeSource": "crewgraph.knowledge.source.csv_knowledge_source",
    "CrewDoclingSource": "crewgraph.knowledge.source.crew_docling_source",
    "DocumentsKnowledgeSource": "crewgraph.knowledge.source.langchain_source",
    "ExcelKnowledgeSource": "crewgraph.knowledge.source.excel_knowledge_source",
    "JSONKnowledgeSource": "crewgraph.knowledge.source.json_knowledge_source",
    "Knowledge": "crewgraph.knowledge.knowledge",
    "KnowledgeConfig": "crewgraph.knowledge.knowledge_config",
    "KnowledgeStorage": "crewgraph.knowledge.storage.knowledge_storage",
    "MarkdownKnowledgeSource": "crewgraph.knowledge.source.markdown_knowledge_source",
    "PDFKnowledgeSource": "crewgraph.knowledge.source.pdf_knowledge_source",
    "RetrieverKnowledgeSource": "crewgraph.knowledge.source.langchain_source",
    "SearchResult": "crewgraph.knowledge.passage",
    "StringKnowledgeSource": "crewgraph.knowledge.source.string_knowledge_source",
    "TextFileKnowledgeSource": "crewgraph.knowledge.source.text_file_knowledge_source",
    "URLKnowledgeSource": "crewgraph.knowledge.source.url_knowledge_source",
}

if not TYPE_CHECKING:  # type checkers know all names, and are to tell of others

    def __getattr__(name: str) -> Any:
        # Agents and crews are declared without any of these.
        if name not in _WHERE:
            raise AttributeError(f"module `crewgraph.knowledge` has no attribute `{name}`")
        return getattr(load(_WHERE[name]), name)
