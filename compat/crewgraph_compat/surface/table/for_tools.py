"""Vector clients, and other names that the package crewai_tools imports."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_BASE_CONFIG = rows("crewgraph_compat.stand_ins.rag.config", "BaseRagConfig", "SupportedProvider")
_CHROMADB = rows("crewgraph_compat.stand_ins.rag.config", "ChromaDBConfig")
_QDRANT = rows("crewgraph_compat.stand_ins.rag.config", "QdrantConfig")
_CONFIG_TYPE = rows("crewgraph_compat.stand_ins.rag.config", "RagConfigType")
_CONSTANTS = "crewgraph_compat.stand_ins.rag.chroma_records"
_PLACES = rows(_CONSTANTS, "DEFAULT_DATABASE", "DEFAULT_STORAGE_PATH", "DEFAULT_TENANT")
_DEFAULT_CONFIG = rows(_CONSTANTS, "DEFAULT_RAG_CONFIG_CLASS", "DEFAULT_RAG_CONFIG_PATH")
_DISCRIMINATOR = rows(_CONSTANTS, "DISCRIMINATOR")
_NAMES = rows(
    "crewgraph_compat.stand_ins.rag.chroma_records",
    "DEFAULT_COLLECTION",
    "INVALID_CHARS_PATTERN",
    "IPV4_PATTERN",
    "MAX_COLLECTION_LENGTH",
    "MIN_COLLECTION_LENGTH",
)
_RECORDS = "crewgraph_compat.stand_ins.rag.chroma_records"
_CLIENT_TYPE = rows(_RECORDS, "ChromaDBClientType")
_MODULES = rows("crewgraph_compat.stand_ins.rag.factory", "ChromaFactoryModule", "QdrantFactoryModule")
_FACTORY = rows("crewgraph_compat.stand_ins.rag.factory", "create_client")
_LOCK = rows("crewgraph_compat.stand_ins.storage.files", "lock")
_RECORD = rows("crewgraph_compat.stand_ins.rag.client", "BaseRecord")
_RESULT = rows("crewgraph.knowledge.passage", "SearchResult")

MODULES: dict[str, dict[str, str]] = {
    "crewai.rag.chromadb": {},
    "crewai.rag.chromadb.client": {
        **rows("crewgraph_compat.stand_ins.rag.chroma_client", "ChromaDBClient"),
        **_CLIENT_TYPE,
        **rows("crewgraph_compat.stand_ins.storage.files", store_lock="lock"),
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
            "crewgraph_compat.stand_ins.rag.chroma_client",
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
            "crewgraph_compat.stand_ins.rag.chroma_records",
            _convert_chromadb_results_to_search_results="search_results",
            _convert_distance_to_score="score_of",
            _process_query_results="query_results",
        ),
        **rows(
            "crewgraph_compat.stand_ins.rag.chroma_records",
            _is_ipv4_pattern="is_ipv4_pattern",
            _sanitize_collection_name="collection_name",
        ),
    },
    "crewai.rag.config": {},
    "crewai.rag.config.base": _BASE_CONFIG,
    "crewai.rag.config.constants": {**_DEFAULT_CONFIG, **_DISCRIMINATOR},
    "crewai.rag.config.optional_imports": {},
    "crewai.rag.config.optional_imports.base": rows(
        "crewgraph_compat.stand_ins.rag.config", _MissingProvider="MissingProvider"
    ),
    "crewai.rag.config.optional_imports.protocols": _MODULES,
    "crewai.rag.config.optional_imports.providers": rows(
        "crewgraph_compat.stand_ins.rag.config", "MissingChromaDBConfig", "MissingQdrantConfig"
    ),
    "crewai.rag.config.optional_imports.types": rows("crewgraph_compat.stand_ins.rag.config", "SupportedProvider"),
    "crewai.rag.config.types": {
        **_CHROMADB,
        **_QDRANT,
        **_CONFIG_TYPE,
        **_DISCRIMINATOR,
        **rows("crewgraph_compat.stand_ins.rag.config", SupportedProviderConfig="RagConfigType"),
    },
    "crewai.rag.config.utils": {
        **rows(
            "crewgraph_compat.stand_ins.rag.factory",
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
        **rows("crewgraph_compat.stand_ins.rag.client", "BaseClient"),
        **rows(
            "crewgraph_compat.stand_ins.rag.client",
            "BaseCollectionAddParams",
            "BaseCollectionParams",
            "BaseCollectionSearchParams",
        ),
    },
    "crewai.rag.core.exceptions": rows("crewgraph_compat.stand_ins.rag.chroma_client", "ClientMethodMismatchError"),
    "crewai.rag.factory": {
        **_FACTORY,
        **_MODULES,
        **rows(
            "crewgraph_compat.stand_ins.rag.factory", "register_rag_client_factory", "unregister_rag_client_factory"
        ),
    },
    "crewai.rag.qdrant": {},
    "crewai.rag.qdrant.config": _QDRANT,
    "crewai.rag.qdrant.factory": _FACTORY,
    "crewai.rag.storage": {},
    "crewai.rag.storage.base_rag_storage": rows("crewgraph_compat.stand_ins.rag.client", "BaseRAGStorage"),
    "crewai.rag.types": {**_RECORD, **_RESULT},
    "crewai.utilities.lock_store": _LOCK,
}
"""The modules of this area."""
