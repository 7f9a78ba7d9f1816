"""Collections in a ChromaDB client that the program has created."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Unpack, cast

from crewgraph.core.operations import Operation, Program, adrive, drive
from crewgraph.errors import PicklableError
from crewgraph.knowledge.passage import SearchResult
from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.resolve import embedder_of
from crewgraph_compat.stand_ins.rag.chroma_records import (
    ChromaDBCollectionCreateParams,
    ChromaDBCollectionSearchParams,
    batch_slice,
    collection_name,
    extracted_params,
    prepared_documents,
    query_results,
)
from crewgraph_compat.stand_ins.rag.client import BaseCollectionAddParams, BaseCollectionParams
from crewgraph_compat.stand_ins.rag.embedding_functions import EmbeddingFunction, ProvidedFunction
from crewgraph_compat.stand_ins.storage.files import lock

__all__ = [
    "ChromaDBClient",
    "ChromaEmbeddings",
    "ClientMethodMismatchError",
    "for_chroma",
    "is_async_client",
    "is_sync_client",
]


class ClientMethodMismatchError(PicklableError, TypeError):
    """A synchronous method was called on an asynchronous client, or vice versa."""

    def __init__(self, method_name: str, expected_client: str, alt_method: str, alt_client: str) -> None:
        super().__init__(
            f"`{method_name}()` needs a `{expected_client}`; if this client is a `{alt_client}`, call `{alt_method}()`."
        )


class ChromaEmbeddings:
    """An embedder with ChromaDB's interface. ChromaDB does not store it, so it is passed on every call."""

    def __init__(self, embedder: NamedEmbedder) -> None:
        self.embedder = embedder

    def __call__(self, input: list[str]) -> list[Any]:
        return self.embedder(input)

    def embed_query(self, input: list[str]) -> list[Any]:
        """Return the vectors of queries."""
        return [self.embedder.embeddings.embed_query(text) for text in input]

    @staticmethod
    def name() -> str:
        """Return the name that ChromaDB uses for unknown embedders."""
        return "default"

    def is_legacy(self) -> bool:
        """Return True: ChromaDB cannot rebuild it from its configuration."""
        return True

    def default_space(self) -> str:
        """Return the default distance metric."""
        return "cosine"

    def supported_spaces(self) -> list[str]:
        """Return the supported distance metrics."""
        return ["cosine", "l2", "ip"]


def for_chroma(function: Any) -> Any:
    """Wrap an embedder or an embedding function for ChromaDB; other values are returned unchanged."""
    if isinstance(function, (NamedEmbedder, ProvidedFunction)):
        return ChromaEmbeddings(embedder_of(function))
    candidate: object = function
    if isinstance(candidate, EmbeddingFunction) and not hasattr(cast("object", candidate), "name"):
        return ChromaEmbeddings(embedder_of(cast("object", candidate)))
    return function


_SYNC, _ASYNC = "ClientAPI", "AsyncClientAPI"
_SPACE = "hnsw:space"


class ChromaDBClient:
    """Store and search texts in ChromaDB; methods with the prefix `a` are for asynchronous clients.

    Without a client of your own, use `create_client`, which does not need ChromaDB.

    Args:
        client: a synchronous or asynchronous ChromaDB client.
        embedding_function: the embedding function in ChromaDB's form.
        default_limit: the maximum number of search results.
        default_score_threshold: the minimum score, from 0 to 1.
        default_batch_size: the number of texts sent per batch.
        lock_name: the name of a lock that serializes writes of processes sharing the files. Only synchronous
            clients have files.

    Raises:
        ClientMethodMismatchError: A method is called on the other kind of client, or on no ChromaDB client.
    """

    def __init__(
        self,
        client: Any,
        embedding_function: Any,
        default_limit: int = 5,
        default_score_threshold: float = 0.6,
        default_batch_size: int = 100,
        lock_name: str = "",
    ) -> None:
        self.client = client
        self.embedding_function = embedding_function
        self.default_limit = default_limit
        self.default_score_threshold = default_score_threshold
        self.default_batch_size = default_batch_size
        self._lock_name = lock_name

    def create_collection(self, **kwargs: Unpack[ChromaDBCollectionCreateParams]) -> None:
        """Create a collection; it uses cosine distance unless its `metadata` say otherwise."""
        self._sync("create_collection")
        with self._locked():
            drive(self._creating(kwargs))

    async def acreate_collection(self, **kwargs: Unpack[ChromaDBCollectionCreateParams]) -> None:
        """Create a collection; see `create_collection`."""
        self._async("create_collection")
        await adrive(self._creating(kwargs))

    def get_or_create_collection(self, **kwargs: Unpack[ChromaDBCollectionCreateParams]) -> Any:
        """Return a ChromaDB collection, creating it if necessary."""
        self._sync("get_or_create_collection")
        with self._locked():
            return drive(self._getting(kwargs))

    async def aget_or_create_collection(self, **kwargs: Unpack[ChromaDBCollectionCreateParams]) -> Any:
        """Return a ChromaDB collection, creating it if necessary."""
        self._async("get_or_create_collection")
        return await adrive(self._getting(kwargs))

    def add_documents(self, **kwargs: Unpack[BaseCollectionAddParams]) -> None:
        """Store texts, replacing those with the same `doc_id` or text.

        Raises:
            ValueError: there are none.
        """
        self._sync("add_documents")
        with self._locked():
            drive(self._adding(kwargs))

    async def aadd_documents(self, **kwargs: Unpack[BaseCollectionAddParams]) -> None:
        """Store texts; see `add_documents`."""
        self._async("add_documents")
        await adrive(self._adding(kwargs))

    def search(self, **kwargs: Unpack[ChromaDBCollectionSearchParams]) -> list[SearchResult]:
        """Return the best matches for a query, best first; `where` takes precedence over `metadata_filter`."""
        self._sync("search")
        with self._locked():
            return drive(self._searching(kwargs))

    async def asearch(self, **kwargs: Unpack[ChromaDBCollectionSearchParams]) -> list[SearchResult]:
        """Return the best matches for a query; see `search`."""
        self._async("search")
        return await adrive(self._searching(kwargs))

    def delete_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None:
        """Delete a collection."""
        self._sync("delete_collection")
        with self._locked():
            self.client.delete_collection(name=collection_name(kwargs["collection_name"]))

    async def adelete_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None:
        """Delete a collection."""
        self._async("delete_collection")
        await self.client.delete_collection(name=collection_name(kwargs["collection_name"]))

    def reset(self) -> None:
        """Delete all data of the client, if ChromaDB allows it."""
        self._sync("reset")
        with self._locked():
            self.client.reset()

    async def areset(self) -> None:
        """Delete all data of the client, if ChromaDB allows it."""
        self._async("reset")
        await self.client.reset()

    def _creating(self, params: ChromaDBCollectionCreateParams) -> Program[None]:
        yield _Request(
            self.client.create_collection, **self._described(params), get_or_create=params.get("get_or_create", False)
        )

    def _getting(self, params: ChromaDBCollectionCreateParams) -> Program[Any]:
        return (yield _Request(self.client.get_or_create_collection, **self._described(params)))

    def _adding(self, params: BaseCollectionAddParams) -> Program[None]:
        if not params["documents"]:
            raise ValueError("there are no documents to store: the list is empty.")
        prepared = prepared_documents(params["documents"])
        collection = yield self._collection(params["collection_name"])
        size = params.get("batch_size") or self.default_batch_size
        for start in range(0, len(prepared.ids), size):
            ids, texts, metadatas = batch_slice(prepared, start, size)
            stored = metadatas and [item or None for item in metadatas]  # an empty one is refused
            yield _Request(collection.upsert, ids=ids, documents=texts, metadatas=stored)

    def _searching(self, given: ChromaDBCollectionSearchParams) -> Program[list[SearchResult]]:
        usual = {"limit": self.default_limit, "score_threshold": self.default_score_threshold}
        params = extracted_params(cast("ChromaDBCollectionSearchParams", {**usual, **given}))
        collection = yield self._collection(params.collection_name)
        results = yield _Request(
            collection.query,
            query_texts=[params.query],
            n_results=params.limit,
            where=params.where or params.metadata_filter or None,
            where_document=params.where_document,
            include=params.include,
        )
        return query_results(collection, results, params)

    def _collection(self, name: str) -> Operation:
        return _Request(
            self.client.get_or_create_collection,
            name=collection_name(name),
            embedding_function=for_chroma(self.embedding_function),
        )

    def _described(self, params: ChromaDBCollectionCreateParams) -> dict[str, Any]:
        return {
            "name": collection_name(params["collection_name"]),
            "configuration": params.get("configuration"),
            "metadata": {_SPACE: "cosine", **(params.get("metadata") or {})},
            "embedding_function": for_chroma(params.get("embedding_function", self.embedding_function)),
            "data_loader": params.get("data_loader"),
        }

    def _sync(self, method_name: str) -> None:
        if not is_sync_client(self.client):
            raise ClientMethodMismatchError(method_name, _SYNC, f"a{method_name}", _ASYNC)

    def _async(self, method_name: str) -> None:
        if not is_async_client(self.client):
            raise ClientMethodMismatchError(f"a{method_name}", _ASYNC, method_name, _SYNC)

    def _locked(self) -> AbstractContextManager[None]:
        return lock(self._lock_name) if self._lock_name else nullcontext()


class _Request(Operation):
    """A ChromaDB call that runs synchronously or asynchronously, depending on the client."""

    def __init__(self, function: Callable[..., Any], **arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def run(self) -> Any:
        return self.function(**self.arguments)

    async def arun(self) -> Any:
        return await self.function(**self.arguments)


def is_sync_client(client: object) -> bool:
    """Return whether an object is a synchronous ChromaDB client."""
    return _is(client, "chromadb.api", _SYNC)


def is_async_client(client: object) -> bool:
    """Return whether an object is an asynchronous ChromaDB client."""
    return _is(client, "chromadb.api.async_api", _ASYNC)


def _is(client: object, module: str, name: str) -> bool:
    loaded = sys.modules.get(module)  # without it there is no such client
    return loaded is not None and isinstance(client, getattr(loaded, name))
