"""Clients that keep texts by their vectors, and what else the package crewai_tools asks for."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_STAND_INS = "crewgraph_compat.stand_ins"
_BASE_CONFIG = rows(f"{_STAND_INS}.rag.config", "BaseRagConfig", "SupportedProvider")
_CHROMADB = rows(f"{_STAND_INS}.rag.config", "ChromaDBConfig")
_QDRANT = rows(f"{_STAND_INS}.rag.config", "QdrantConfig")
_CONFIG_TYPE = rows(f"{_STAND_INS}.rag.config", "RagConfigType")
_FACTORY = rows(f"{_STAND_INS}.rag.factory", "create_client")
_LOCK = rows(f"{_STAND_INS}.storage", "lock")
_RECORD = rows(f"{_STAND_INS}.rag.client", "BaseRecord")
_RESULT = rows("crewgraph.knowledge.passage", "SearchResult")

MODULES: dict[str, dict[str, str]] = {
    "crewai.rag.chromadb": {},
    "crewai.rag.chromadb.client": {
        **rows(f"{_STAND_INS}.storage", store_lock="lock"),
    },
    "crewai.rag.chromadb.config": {
        **_CHROMADB,
    },
    "crewai.rag.chromadb.factory": {**_FACTORY, **_LOCK},
    "crewai.rag.config": {},
    "crewai.rag.config.base": _BASE_CONFIG,
    "crewai.rag.config.optional_imports": {},
    "crewai.rag.config.optional_imports.types": rows(f"{_STAND_INS}.rag.config", "SupportedProvider"),
    "crewai.rag.config.types": {
        **_CHROMADB,
        **_QDRANT,
        **_CONFIG_TYPE,
        **rows(f"{_STAND_INS}.rag.config", SupportedProviderConfig="RagConfigType"),
    },
    "crewai.rag.config.utils": {
        **rows(
            f"{_STAND_INS}.rag.factory",
            "clear_rag_config",
            "get_rag_client",
            "get_rag_config",
            "set_rag_config",
        ),
        **_CONFIG_TYPE,
    },
    "crewai.rag.core.base_client": {
        **rows(f"{_STAND_INS}.rag.client", "BaseClient"),
        **rows(
            f"{_STAND_INS}.rag.client",
            "BaseCollectionAddParams",
            "BaseCollectionParams",
            "BaseCollectionSearchParams",
        ),
    },
    "crewai.rag.factory": {
        **_FACTORY,
        **rows(f"{_STAND_INS}.rag.factory", "register_rag_client_factory", "unregister_rag_client_factory"),
    },
    "crewai.rag.qdrant": {},
    "crewai.rag.qdrant.config": _QDRANT,
    "crewai.rag.qdrant.factory": _FACTORY,
    "crewai.rag.types": {**_RECORD, **_RESULT},
    "crewai.utilities.lock_store": _LOCK,
}
"""The modules of this area."""
