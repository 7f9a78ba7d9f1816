"""Memory types and their storages."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_SHORT = rows("crewgraph.memory.short_term", "ShortTermMemory")
_SHORT_ITEM = rows("crewgraph.memory.items", "ShortTermMemoryItem")
_LONG = rows("crewgraph.memory.long_term", "LongTermMemory")
_LONG_ITEM = rows("crewgraph.memory.items", "LongTermMemoryItem")
_ENTITY = rows("crewgraph.memory.entity", "EntityMemory")
_ENTITY_ITEM = rows("crewgraph.memory.items", "EntityMemoryItem")
_EXTERNAL = rows("crewgraph.memory.external", "ExternalMemory")
_EXTERNAL_ITEM = rows("crewgraph.memory.items", "ExternalMemoryItem")
_BASE = rows("crewgraph.memory.short_term", Memory="StoredMemory")
_RAG = rows("crewgraph.memory.storage", "RAGStorage")
_LTM = rows("crewgraph.memory.storage", "LTMSQLiteStorage")
_STORAGE = rows("crewgraph.memory.storage", "Storage")
_BUS = rows("crewgraph.events.bus", "crewai_event_bus")
_MEMORY = rows("crewgraph.memory.memory", "Memory")
_PARTS = {**rows("crewgraph.memory.memory", "MemoryScope"), **rows("crewgraph.memory.memory", "MemorySlice")}
_RECORDS = rows("crewgraph.memory.records", "MemoryMatch", "MemoryRecord", "ScopeInfo")
_SCORES = rows("crewgraph.memory.records", "MemoryConfig", "compute_composite_score")
_VECTORS = rows("crewgraph.memory.custom_storage", "embed_text", "embed_texts")
_ANALYSES = rows(
    "crewgraph.memory.analysis",
    "ConsolidationAction",
    "ConsolidationPlan",
    "ExtractedMemories",
    "ExtractedMetadata",
    "MemoryAnalysis",
    "QueryAnalysis",
)
_ANALYZE = rows(
    "crewgraph.memory.analyze",
    "analyze_for_consolidation",
    "analyze_for_save",
    "analyze_query",
    "extract_memories_from_content",
)
_PATHS = rows("crewgraph.memory.records", "join_scope_paths", "normalize_scope_path", "sanitize_scope_name")

MODULES: dict[str, dict[str, str]] = {
    "crewai.memory": {
        **_SHORT,
        **_LONG,
        **_ENTITY,
        **_EXTERNAL,
        **_MEMORY,
        **_PARTS,
        **_RECORDS,
        **rows("crewgraph.memory.records", "compute_composite_score"),
        **_VECTORS,
    },
    "crewai.memory.analyze": {**_ANALYSES, **_ANALYZE, **_RECORDS},
    "crewai.memory.contextual": {},
    "crewai.memory.contextual.contextual_memory": {
        **rows("crewgraph.memory.contextual", "ContextualMemory"),
        **_SHORT,
        **_LONG,
        **_ENTITY,
        **_EXTERNAL,
    },
    "crewai.memory.entity": {},
    "crewai.memory.entity.entity_memory": {**_ENTITY, **_ENTITY_ITEM, **_BASE, **_RAG, **_BUS},
    "crewai.memory.entity.entity_memory_item": _ENTITY_ITEM,
    "crewai.memory.external": {},
    "crewai.memory.external.external_memory": {**_EXTERNAL, **_EXTERNAL_ITEM, **_BASE, **_STORAGE, **_BUS},
    "crewai.memory.external.external_memory_item": _EXTERNAL_ITEM,
    "crewai.memory.long_term": {},
    "crewai.memory.long_term.long_term_memory": {**_LONG, **_LONG_ITEM, **_BASE, **_LTM, **_BUS},
    "crewai.memory.long_term.long_term_memory_item": _LONG_ITEM,
    "crewai.memory.memory": _BASE,
    "crewai.memory.memory_scope": {**_MEMORY, **_PARTS, **_RECORDS},
    "crewai.memory.short_term": {},
    "crewai.memory.short_term.short_term_memory": {**_SHORT, **_SHORT_ITEM, **_BASE, **_RAG, **_BUS},
    "crewai.memory.short_term.short_term_memory_item": _SHORT_ITEM,
    "crewai.memory.storage": {},
    "crewai.memory.storage.backend": {
        **rows("crewgraph.memory.backend", "EmbeddingDimensionMismatchError", "StorageBackend"),
        **_RECORDS,
    },
    "crewai.memory.storage.factory": rows(
        "crewgraph.memory.backend", "resolve_memory_storage", "set_memory_storage_factory"
    ),
    "crewai.memory.storage.interface": _STORAGE,
    "crewai.memory.storage.kickoff_task_outputs_storage": {
        **rows("crewgraph_compat.stand_ins.storage.outputs", "KickoffTaskOutputsSQLiteStorage"),
        **rows("crewgraph_compat.stand_ins.storage.outputs", "DatabaseError", "DatabaseOperationError"),
        **rows("crewgraph_compat.stand_ins.storage.files", "db_storage_path"),
        **rows("crewgraph_compat.stand_ins.storage.files", store_lock="lock"),
    },
    "crewai.memory.storage.llm_sqlite_storage": _LTM,
    "crewai.memory.storage.ltm_sqlite_storage": _LTM,
    "crewai.memory.storage.mem0_storage": {
        **rows("crewgraph.memory.storage", "Mem0Storage"),
        **_STORAGE,
    },
    "crewai.memory.storage.rag_storage": {
        **_RAG,
        **rows("crewgraph_compat.stand_ins.rag.client", "BaseRAGStorage"),
    },
    "crewai.memory.types": {**_RECORDS, **_SCORES, **_VECTORS},
    "crewai.memory.unified_memory": {**_MEMORY, **_RECORDS, **_SCORES, **_BUS},
    "crewai.memory.utils": _PATHS,
}
"""The modules of this area."""
