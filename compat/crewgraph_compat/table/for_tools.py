"""Clients that keep texts by their vectors, and what else the package crewai_tools asks for."""

from crewgraph_compat.table.rows import rows

__all__ = ["MODULES"]

_STAND_INS = "crewgraph_compat.stand_ins"
_BASE_CONFIG = rows(f"{_STAND_INS}.rag_config", "BaseRagConfig", "SupportedProvider")
_CHROMADB = rows(f"{_STAND_INS}.rag_config", "ChromaDBConfig")
_QDRANT = rows(f"{_STAND_INS}.rag_config", "QdrantConfig")
_CONFIG_TYPE = rows(f"{_STAND_INS}.rag_config", "RagConfigType")
_CONSTANTS = f"{_STAND_INS}.rag_constants"
_PLACES = rows(_CONSTANTS, "DEFAULT_DATABASE", "DEFAULT_STORAGE_PATH", "DEFAULT_TENANT")
_DEFAULT_CONFIG = rows(_CONSTANTS, "DEFAULT_RAG_CONFIG_CLASS", "DEFAULT_RAG_CONFIG_PATH")
_DISCRIMINATOR = rows(_CONSTANTS, "DISCRIMINATOR")
_NAMES = rows(
    f"{_STAND_INS}.collection_names",
    "DEFAULT_COLLECTION",
    "INVALID_CHARS_PATTERN",
    "IPV4_PATTERN",
    "MAX_COLLECTION_LENGTH",
    "MIN_COLLECTION_LENGTH",
)
_RECORDS = f"{_STAND_INS}.chroma_records"
_CLIENT_TYPE = rows(_RECORDS, "ChromaDBClientType")
_MODULES = rows(f"{_STAND_INS}.factory_modules", "ChromaFactoryModule", "QdrantFactoryModule")
_FACTORY = rows(f"{_STAND_INS}.rag_factory", "create_client")
_LOCK = rows(f"{_STAND_INS}.lock_store", "lock")
_RECORD = rows(f"{_STAND_INS}.rag_records", "BaseRecord")
_RESULT = rows("crewgraph.knowledge.passage", "SearchResult")

MODULES: dict[str, dict[str, str]] = {
    "crewai.rag.chromadb": {},
    "crewai.rag.chromadb.client": {
        **rows(f"{_STAND_INS}.chroma_client", "ChromaDBClient"),
        **_CLIENT_TYPE,
        **rows(f"{_STAND_INS}.lock_store", store_lock="lock"),
    },
    "crewai.rag.chromadb.config": {**_CHROMADB, **_PLACES},
    "crewai.rag.chromadb.constants": {**_NAMES, **_PLACES},
    "crewai.rag.chromadb.factory": {**_FACTORY, **_LOCK},
    "crewai.rag.chromadb.types": {
        **_CLIENT_TYPE,
        **rows(
            _RECORDS,
            "ChromaDBCollectionCreateParams",
            "ChromaDBCollectionSearchParams",
            "ChromaEmbeddingFunctionWrapper",
            "CollectionMetadata",
            "ExtractedSearchParams",
            "Include",
            "Loadable",
            "PreparedDocuments",
            "Where",
            "WhereDocument",
        ),
    },
    "crewai.rag.chromadb.utils": {
        **_NAMES,
        **_CLIENT_TYPE,
        **rows(_RECORDS, "Include"),
        **rows(
            f"{_STAND_INS}.chroma_client",
            _is_async_client="is_async_client",
            _is_sync_client="is_sync_client",
        ),
        **rows(
            _RECORDS,
            _create_batch_slice="batch_slice",
            _extract_search_params="extracted_params",
            _prepare_documents_for_chromadb="prepared_documents",
        ),
        **rows(
            f"{_STAND_INS}.chroma_results",
            _convert_chromadb_results_to_search_results="search_results",
            _convert_distance_to_score="score_of",
            _process_query_results="query_results",
        ),
        **rows(
            f"{_STAND_INS}.collection_names",
            _is_ipv4_pattern="is_ipv4_pattern",
            _sanitize_collection_name="collection_name",
        ),
    },
    "crewai.rag.config": {},
    "crewai.rag.config.base": _BASE_CONFIG,
    "crewai.rag.config.constants": {**_DEFAULT_CONFIG, **_DISCRIMINATOR},
    "crewai.rag.config.optional_imports": {},
    "crewai.rag.config.optional_imports.base": rows(
        f"{_STAND_INS}.missing_configs", _MissingProvider="MissingProvider"
    ),
    "crewai.rag.config.optional_imports.protocols": _MODULES,
    "crewai.rag.config.optional_imports.providers": rows(
        f"{_STAND_INS}.missing_configs", "MissingChromaDBConfig", "MissingQdrantConfig"
    ),
    "crewai.rag.config.optional_imports.types": rows(f"{_STAND_INS}.rag_config", "SupportedProvider"),
    "crewai.rag.config.types": {
        **_CHROMADB,
        **_QDRANT,
        **_CONFIG_TYPE,
        **_DISCRIMINATOR,
        **rows(f"{_STAND_INS}.rag_config", SupportedProviderConfig="RagConfigType"),
    },
    "crewai.rag.config.utils": {
        **rows(
            f"{_STAND_INS}.rag_context",
            "RagContext",
            "clear_rag_config",
            "get_rag_client",
            "get_rag_config",
            "set_rag_config",
            _rag_context="_context",
        ),
        **_DEFAULT_CONFIG,
        **_CONFIG_TYPE,
    },
    "crewai.rag.core.base_client": {
        **rows(f"{_STAND_INS}.base_client", "BaseClient"),
        **rows(
            f"{_STAND_INS}.rag_records",
            "BaseCollectionAddParams",
            "BaseCollectionParams",
            "BaseCollectionSearchParams",
        ),
    },
    "crewai.rag.core.exceptions": rows(f"{_STAND_INS}.client_faults", "ClientMethodMismatchError"),
    "crewai.rag.factory": {
        **_FACTORY,
        **_MODULES,
        **rows(f"{_STAND_INS}.rag_factory", "register_rag_client_factory", "unregister_rag_client_factory"),
    },
    "crewai.rag.qdrant": {},
    "crewai.rag.qdrant.config": _QDRANT,
    "crewai.rag.qdrant.factory": _FACTORY,
    "crewai.rag.storage": {},
    "crewai.rag.storage.base_rag_storage": rows(f"{_STAND_INS}.base_rag_storage", "BaseRAGStorage"),
    "crewai.rag.types": {**_RECORD, **_RESULT},
    "crewai.utilities.lock_store": _LOCK,
}
"""The modules of this area."""
