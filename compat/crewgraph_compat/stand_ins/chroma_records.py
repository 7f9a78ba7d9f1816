"""What ChromaDB is given and asked, as data, and how documents become that."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from crewgraph_compat.stand_ins.embedding_function import EmbeddingFunction
from crewgraph_compat.stand_ins.rag_records import BaseCollectionParams, BaseCollectionSearchParams, BaseRecord

__all__ = [
    "ChromaDBClientType",
    "ChromaDBCollectionCreateParams",
    "ChromaDBCollectionSearchParams",
    "ChromaEmbeddingFunctionWrapper",
    "CollectionMetadata",
    "ExtractedSearchParams",
    "Include",
    "Loadable",
    "Metadata",
    "PreparedDocuments",
    "Where",
    "WhereDocument",
    "batch_slice",
    "extracted_params",
    "prepared_documents",
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
    """An embedding function as the type of a field; anything is taken."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.any_schema()


class ChromaDBCollectionCreateParams(BaseCollectionParams, total=False):
    """Which collection is to be made, and how."""

    configuration: Any
    metadata: CollectionMetadata
    embedding_function: Any
    data_loader: Any
    get_or_create: bool


class ChromaDBCollectionSearchParams(BaseCollectionSearchParams, total=False):
    """What is looked for, also in ChromaDB's own words."""

    where: Where
    where_document: WhereDocument
    include: Include


class PreparedDocuments(NamedTuple):
    """Documents in three lists, as ChromaDB takes them."""

    ids: list[str]
    texts: list[str]
    metadatas: list[Metadata]


class ExtractedSearchParams(NamedTuple):
    """What is looked for, with all that was left out."""

    collection_name: str
    query: str
    limit: int
    metadata_filter: dict[str, Any] | None
    score_threshold: float | None
    where: Where | None
    where_document: WhereDocument | None
    include: Include


def prepared_documents(documents: Sequence[BaseRecord]) -> PreparedDocuments:
    """Documents in three lists; of those with one id the last counts.

    An id that is not given is made of the text and its metadata.

    Raises:
        ValueError: a document has no `content`.
    """
    found: dict[str, tuple[str, Metadata]] = {}
    for document in documents:
        if "content" not in document:
            raise ValueError(f"a document has no `content`, only {sorted(document)}.")
        text, metadata = document["content"], document.get("metadata")
        key = str(document["doc_id"]) if "doc_id" in document else _identity(text, metadata)
        found[key] = (text, _first(metadata))
    return PreparedDocuments([*found], [text for text, _ in found.values()], [one for _, one in found.values()])


def batch_slice(
    prepared: PreparedDocuments, start_index: int, batch_size: int
) -> tuple[list[str], list[str], list[Metadata] | None]:
    """Some of the documents; None for metadata where none of them has any."""
    some = slice(start_index, start_index + batch_size)
    metadatas = prepared.metadatas[some]
    return prepared.ids[some], prepared.texts[some], metadatas if any(metadatas) else None


def extracted_params(kwargs: ChromaDBCollectionSearchParams) -> ExtractedSearchParams:
    """What is looked for, with what ChromaDB is asked for where nothing is said.

    Raises:
        KeyError: it has no `collection_name` or no `query`.
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


def _first(given: Metadata | list[Metadata] | None) -> Metadata:
    if isinstance(given, list):
        return given[0] if given else {}
    return given or {}


def _identity(text: str, metadata: Any) -> str:
    told = f"{text}|{json.dumps(metadata, sort_keys=True)}" if metadata else text
    return hashlib.sha256(told.encode()).hexdigest()
