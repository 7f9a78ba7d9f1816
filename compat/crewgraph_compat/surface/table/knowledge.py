"""What agents know."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_BASE = rows("crewgraph.knowledge.source.base", "BaseKnowledgeSource")
_FILE = rows("crewgraph.knowledge.source.base", "BaseFileKnowledgeSource")
_CSV = rows("crewgraph.knowledge.source.text_files", "CSVKnowledgeSource")
_DOCLING = rows("crewgraph.knowledge.source.documents", "CrewDoclingSource")
_EXCEL = rows("crewgraph.knowledge.source.documents", "ExcelKnowledgeSource")
_JSON = rows("crewgraph.knowledge.source.text_files", "JSONKnowledgeSource")
_PDF = rows("crewgraph.knowledge.source.documents", "PDFKnowledgeSource")
_STRING = rows("crewgraph.knowledge.source.base", "StringKnowledgeSource")
_TEXT = rows("crewgraph.knowledge.source.base", "TextFileKnowledgeSource")
_BASE_STORAGE = rows("crewgraph.knowledge.storage", "BaseKnowledgeStorage")
_STORAGE = rows("crewgraph.knowledge.storage", "KnowledgeStorage")
_RESULT = rows("crewgraph.knowledge.passage", "SearchResult")

MODULES: dict[str, dict[str, str]] = {
    "crewai.knowledge": {},
    "crewai.knowledge.knowledge": {
        **rows("crewgraph.knowledge.knowledge", "Knowledge"),
        **_BASE,
        **_CSV,
        **_DOCLING,
        **_EXCEL,
        **_JSON,
        **_PDF,
        **_STRING,
        **_TEXT,
        **_BASE_STORAGE,
        **_STORAGE,
        **_RESULT,
    },
    "crewai.knowledge.knowledge_config": rows("crewgraph.knowledge.passage", "KnowledgeConfig"),
    "crewai.knowledge.source": {},
    "crewai.knowledge.source.base_file_knowledge_source": {**_FILE, **_BASE, **_BASE_STORAGE, **_STORAGE},
    "crewai.knowledge.source.base_knowledge_source": {**_BASE, **_BASE_STORAGE, **_STORAGE},
    "crewai.knowledge.source.crew_docling_source": {
        **_DOCLING,
        **_BASE,
        **rows("crewgraph_compat.stand_ins.rag.config", "DOCLING_AVAILABLE"),
    },
    "crewai.knowledge.source.csv_knowledge_source": {**_CSV, **_FILE},
    "crewai.knowledge.source.excel_knowledge_source": {**_EXCEL, **_BASE},
    "crewai.knowledge.source.json_knowledge_source": {**_JSON, **_FILE},
    "crewai.knowledge.source.pdf_knowledge_source": {**_PDF, **_FILE},
    "crewai.knowledge.source.string_knowledge_source": {**_STRING, **_BASE},
    "crewai.knowledge.source.text_file_knowledge_source": {**_TEXT, **_FILE},
    "crewai.knowledge.source.utils": {},
    "crewai.knowledge.source.utils.source_helper": {
        **rows("crewgraph.knowledge.source.kinds", SourceHelper="SourceKinds"),
        **_BASE,
        **_CSV,
        **_EXCEL,
        **_JSON,
        **_PDF,
        **_TEXT,
    },
    "crewai.knowledge.storage": {},
    "crewai.knowledge.storage.base_knowledge_storage": _BASE_STORAGE,
    "crewai.knowledge.storage.factory": rows(
        "crewgraph.knowledge.storage", "resolve_knowledge_storage", "set_knowledge_storage_factory"
    ),
    "crewai.knowledge.storage.knowledge_storage": {**_STORAGE, **_BASE_STORAGE, **_RESULT},
    "crewai.knowledge.utils": {},
    "crewai.knowledge.utils.knowledge_utils": {
        **rows("crewgraph.knowledge.passage", "extract_knowledge_context"),
        **_RESULT,
    },
}
"""The modules of this area."""
