"""Records, queries and results in ChromaDB's format, and collection names."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from crewgraph.knowledge.passage import SearchResult
from crewgraph.settings import storage_dir
from crewgraph_compat.stand_ins.rag.client import BaseCollectionParams, BaseCollectionSearchParams, BaseRecord
from crewgraph_compat.stand_ins.rag.embedding_functions import EmbeddingFunction

__all__ = [
    "DEFAULT_COLLECTION",
    "DEFAULT_DATABASE",
    "DEFAULT_RAG_CONFIG_CLASS",
    "DEFAULT_RAG_CONFIG_PATH",
    "DEFAULT_STORAGE_PATH",
    "DEFAULT_TENANT",
    "DISCRIMINATOR",
    "INVALID_CHARS_PATTERN",
    "IPV4_PATTERN",
    "MAX_COLLECTION_LENGTH",
    "MIN_COLLECTION_LENGTH",
    "ChromaDBClientType",
    "ChromaDBCollectionCreateParams",
    "ChromaDBCollectionSearchParams",
    "ChromaEmbeddingFunctionWrapper",
    "CollectionMetadata",
    "ExtractedSearchParams",
    "Include",
    "Loadable",
    "Metadata",
    "Metric",
    "PreparedDocuments",
    "Where",
    "WhereDocument",
    "batch_slice",
    "collection_name",
    "extracted_params",
    "is_ipv4_pattern",
    "prepared_documents",
    "query_results",
    "score_of",
    "search_results",
]


Include = list[Literal["documents", "embeddings", "metadatas", "distances", "uris", "data"]]
Where = dict[str, Any]
WhereDocument = dict[str, Any]
CollectionMetadata = dict[str, Any]
Loadable = list[Any]
ChromaDBClientType = Any
"""ChromaDB's `ClientAPI` or `AsyncClientAPI`."""

Metadata = Mapping[str, str | int | float | bool]

_LIMIT = 10
_INCLUDED: Include = ["metadatas", "documents", "distances"]


class ChromaEmbeddingFunctionWrapper(EmbeddingFunction[list[str]]):
    """An embedding function as a pydantic field type; accepts anything."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.any_schema()


class ChromaDBCollectionCreateParams(BaseCollectionParams, total=False):
    """The arguments for creating a collection."""

    configuration: Any
    metadata: CollectionMetadata
    embedding_function: Any
    data_loader: Any
    get_or_create: bool


class ChromaDBCollectionSearchParams(BaseCollectionSearchParams, total=False):
    """The arguments of a search, including ChromaDB's own."""

    where: Where
    where_document: WhereDocument
    include: Include


class PreparedDocuments(NamedTuple):
    """Documents as the three parallel lists that ChromaDB takes."""

    ids: list[str]
    texts: list[str]
    metadatas: list[Metadata]


class ExtractedSearchParams(NamedTuple):
    """The arguments of a search with defaults filled in."""

    collection_name: str
    query: str
    limit: int
    metadata_filter: dict[str, Any] | None
    score_threshold: float | None
    where: Where | None
    where_document: WhereDocument | None
    include: Include


def prepared_documents(documents: Sequence[BaseRecord]) -> PreparedDocuments:
    """Convert documents to three lists; the last of those with the same id wins.

    A missing id is derived from the text and its metadata.

    Raises:
        ValueError: A document has no `content`.
    """
    result: dict[str, tuple[str, Metadata]] = {}
    for document in documents:
        if "content" not in document:
            raise ValueError(f"a document has no `content`, only {sorted(document)}.")
        text, metadata = document["content"], document.get("metadata")
        key = str(document["doc_id"]) if "doc_id" in document else _identity(text, metadata)
        result[key] = (text, _first(metadata))
    return PreparedDocuments([*result], [text for text, _ in result.values()], [item for _, item in result.values()])


def batch_slice(
    prepared: PreparedDocuments, start_index: int, batch_size: int
) -> tuple[list[str], list[str], list[Metadata] | None]:
    """Return a batch of the documents; the metadata are None if no document has any."""
    some = slice(start_index, start_index + batch_size)
    metadatas = prepared.metadatas[some]
    return prepared.ids[some], prepared.texts[some], metadatas if any(metadatas) else None


def extracted_params(kwargs: ChromaDBCollectionSearchParams) -> ExtractedSearchParams:
    """Return the search arguments with ChromaDB's defaults filled in.

    Raises:
        KeyError: `collection_name` or `query` is missing.
    """
    return ExtractedSearchParams(
        collection_name=kwargs["collection_name"],
        query=kwargs["query"],
        limit=kwargs.get("limit", _LIMIT),
        metadata_filter=kwargs.get("metadata_filter"),
        score_threshold=kwargs.get("score_threshold"),
        where=kwargs.get("where"),
        where_document=kwargs.get("where_document"),
        include=kwargs.get("include", [*_INCLUDED]),
    )


def _first(metadata: Metadata | list[Metadata] | None) -> Metadata:
    if isinstance(metadata, list):
        return metadata[0] if metadata else {}
    return metadata or {}


def _identity(text: str, metadata: Any) -> str:
    hashed = f"{text}|{json.dumps(metadata, sort_keys=True)}" if metadata else text
    return hashlib.sha256(hashed.encode()).hexdigest()


Metric = Literal["l2", "cosine", "ip"]
"""ChromaDB's distance metrics."""


def score_of(distance: float, distance_metric: Metric) -> float:
    """Convert a distance to a similarity score from 0 to 1.

    Raises:
        ValueError: Inner product distances cannot be converted to a score.
    """
    match distance_metric:
        case "cosine":
            return max(0.0, min(1.0, 1 - 0.5 * distance))
        case "l2":
            return 1 / (1 + distance)
        case _:
            raise ValueError(
                f"the metric `{distance_metric}` has no scale; create the collection with `cosine` or `l2`."
            )


def search_results(
    results: Mapping[str, Any], include: Include, distance_metric: Metric, score_threshold: float | None = None
) -> list[SearchResult]:
    """Return the results of the first query in ChromaDB's order; empty if distances were not included.

    Args:
        results: the result of a collection's `query`.
        include: the fields that were requested.
        distance_metric: the metric of the collection.
        score_threshold: the minimum score.

    Raises:
        ValueError: Distances of this metric cannot be converted to a score.
    """
    ids, distances = _first_list(results, "ids"), _first_list(results, "distances")
    if not ids or not distances or "distances" not in include:
        return []
    texts = _first_list(results, "documents") if "documents" in include else []
    metadatas = _first_list(results, "metadatas") if "metadatas" in include else []
    result: list[SearchResult] = [
        {
            "id": key,
            "content": texts[at] if texts else "",
            "metadata": dict((metadatas[at] if metadatas else None) or {}),
            "score": score_of(distances[at], distance_metric),
        }
        for at, key in enumerate(ids)
    ]
    return [item for item in result if score_threshold is None or item["score"] >= score_threshold]


def query_results(collection: Any, results: Mapping[str, Any], params: ExtractedSearchParams) -> list[SearchResult]:
    """Return the results from a collection, scored by its own metric.

    Raises:
        ValueError: Distances of its metric cannot be converted to a score.
    """
    metric = cast("Metric", (collection.metadata or {}).get("hnsw:space", "l2"))
    return search_results(results, params.include, metric, params.score_threshold)


def _first_list(results: Mapping[str, Any], name: str) -> list[Any]:
    rows = results.get(name)
    return rows[0] if rows else []


DEFAULT_COLLECTION = "default_collection"
MIN_COLLECTION_LENGTH = 3
MAX_COLLECTION_LENGTH = 63
INVALID_CHARS_PATTERN = re.compile(r"[^a-zA-Z0-9_-]")
IPV4_PATTERN = re.compile(r"^(\d{1,3}\.){3}\d{1,3}$")


def is_ipv4_pattern(name: str) -> bool:
    """Return whether a name looks like an IPv4 address, which ChromaDB rejects."""
    return IPV4_PATTERN.match(name) is not None


def collection_name(name: str | None, max_collection_length: int = MAX_COLLECTION_LENGTH) -> str:
    """Return a name that ChromaDB accepts: letters, digits, `_` and `-`, alphanumeric at both ends, of valid length.

    Args:
        name: any text; an empty one selects the default collection.
        max_collection_length: the maximum length in characters.
    """
    if not name:
        return DEFAULT_COLLECTION
    fitting = INVALID_CHARS_PATTERN.sub("_", f"ip_{name}" if is_ipv4_pattern(name) else name)
    if not fitting[0].isalnum():
        fitting = f"a{fitting}"
    fitting = _ended(fitting).ljust(MIN_COLLECTION_LENGTH, "x")
    return _ended(fitting[:max_collection_length])


def _ended(name: str) -> str:
    return name if name[-1].isalnum() else f"{name[:-1]}z"


DEFAULT_TENANT = "default_tenant"
DEFAULT_DATABASE = "default_database"
DEFAULT_STORAGE_PATH = str(storage_dir())
"""The storage folder at the time of the first access."""

DISCRIMINATOR = "provider"
"""The key that separates configurations."""

DEFAULT_RAG_CONFIG_PATH = "crewai.rag.chromadb.config"
DEFAULT_RAG_CONFIG_CLASS = "ChromaDBConfig"
"""The class of the default configuration."""
