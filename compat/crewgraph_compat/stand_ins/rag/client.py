"""CrewAI's RAG clients on top of crewgraph's store, and the base classes of clients."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, Required, Unpack, runtime_checkable

from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

from crewgraph import BaseAgent
from crewgraph.core.digests import digest
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.core.plain import plain
from crewgraph.knowledge.passage import SearchResult
from crewgraph.memory.storage import RAGStorage
from crewgraph.storage.store.faiss_store import FaissStore
from crewgraph.storage.store.namespace import Entry, FoundEntry, StoreNamespace
from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.resolve import embedder_of
from crewgraph_compat.stand_ins.rag.config import MEMORY, ChromaDBConfig, QdrantConfig

__all__ = [
    "BaseClient",
    "BaseCollectionAddParams",
    "BaseCollectionParams",
    "BaseCollectionSearchParams",
    "BaseRAGStorage",
    "BaseRecord",
    "FaissClient",
]


class BaseRecord(TypedDict, total=False):
    """A text to be stored."""

    doc_id: str
    """The document id; derived from the text and its metadata if missing."""

    content: Required[str]
    metadata: Mapping[str, str | int | float | bool] | list[Mapping[str, str | int | float | bool]]
    """The metadata; only the first entry of a list is used."""


class BaseCollectionParams(TypedDict, total=False):
    """The collection to operate on."""

    collection_name: Required[str]


class BaseCollectionAddParams(TypedDict, total=False):
    """The documents to store, and their collection."""

    collection_name: Required[str]
    documents: Required[list[BaseRecord]]
    batch_size: int
    """The number of texts embedded per batch; defaults to the client's configuration."""


class BaseCollectionSearchParams(TypedDict, total=False):
    """The query, and the collection to search."""

    collection_name: Required[str]
    query: Required[str]
    limit: int
    metadata_filter: dict[str, Any] | None
    score_threshold: float
    """The minimum score, from 0 to 1."""


_FILE = "rag.db"


class FaissClient:
    """Store texts in collections and search them by meaning; methods with the prefix `a` are asynchronous.

    Collections belong to the working directory. An empty collection counts as missing.
    """

    def __init__(self, config: ChromaDBConfig | QdrantConfig) -> None:
        """Accept a configuration; nothing is opened until first use.

        Raises:
            EmbedderError: `embedding_function` is not an embedder.
            StorageError: The configuration names a server.
        """
        self.config = config
        self.embedding_function: NamedEmbedder = embedder_of(config.embedding_function)
        place = config.place
        self._storage = FaissStore(embedder=self.embedding_function) if place == MEMORY else place

    @property
    def default_limit(self) -> int:
        """The maximum number of search results."""
        return self.config.limit

    @property
    def default_score_threshold(self) -> float:
        """The minimum score of search results, from 0 to 1."""
        return self.config.score_threshold

    @property
    def default_batch_size(self) -> int:
        """The number of texts embedded per batch."""
        return self.config.batch_size

    @property
    def client(self) -> Any:
        """The LangGraph store that holds all data."""
        return self._shelf().store

    def create_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None:
        """Check that no collection has this name yet.

        Raises:
            ValueError: A collection with this name exists.
        """
        drive(self._creating(kwargs["collection_name"]))

    async def acreate_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None:
        """Check that no collection has this name yet; see `create_collection`."""
        await adrive(self._creating(kwargs["collection_name"]))

    def get_or_create_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> StoreNamespace:
        """Return the namespace of a collection."""
        return self._shelf(kwargs["collection_name"])

    async def aget_or_create_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> StoreNamespace:
        """Return the namespace of a collection."""
        return self._shelf(kwargs["collection_name"])

    def add_documents(self, **kwargs: Unpack[BaseCollectionAddParams]) -> None:
        """Store texts, replacing those with the same `doc_id` or text.

        Raises:
            ValueError: there are none.
            StorageError: The texts cannot be embedded or written.
        """
        drive(self._adding(kwargs))

    async def aadd_documents(self, **kwargs: Unpack[BaseCollectionAddParams]) -> None:
        """Store texts; see `add_documents`."""
        await adrive(self._adding(kwargs))

    def search(self, **kwargs: Unpack[BaseCollectionSearchParams]) -> list[SearchResult]:
        """Return the best matches, best first; `limit` and `score_threshold` default to the configuration.

        Raises:
            StorageError: The store cannot be searched.
        """
        return drive(self._searching(kwargs))

    async def asearch(self, **kwargs: Unpack[BaseCollectionSearchParams]) -> list[SearchResult]:
        """Return the best matches; see `search`."""
        return await adrive(self._searching(kwargs))

    def delete_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None:
        """Delete a collection."""
        self._shelf(kwargs["collection_name"]).reset()

    async def adelete_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None:
        """Delete a collection."""
        await self._shelf(kwargs["collection_name"]).areset()

    def reset(self) -> None:
        """Delete all collections."""
        self._shelf().reset()

    async def areset(self) -> None:
        """Delete all collections."""
        await self._shelf().areset()

    def _shelf(self, *collection: str) -> StoreNamespace:
        names = ("rag", *self.config.shelf, *collection)
        return StoreNamespace(*names, storage=self._storage, embedder=self.embedding_function, file=_FILE)

    def _creating(self, name: str) -> Program[None]:
        if (yield from self._shelf(name).sampling(1)):
            raise ValueError(
                f"the collection `{name}` already exists; `get_or_create_collection` returns an existing one."
            )

    def _adding(self, params: BaseCollectionAddParams) -> Program[None]:
        shelf = self._shelf(params["collection_name"])
        documents = params["documents"]
        if not documents:
            raise ValueError("there are no documents to store: the list is empty.")
        for batch in _portions(documents, params.get("batch_size") or self.default_batch_size):
            yield from shelf.putting([_entry(item) for item in batch])

    def _searching(self, params: BaseCollectionSearchParams) -> Program[list[SearchResult]]:
        limit = params.get("limit")
        least = params.get("score_threshold")
        matches: list[FoundEntry] = yield from self._shelf(params["collection_name"]).searching(
            params["query"], self.default_limit if limit is None else limit, filter=params.get("metadata_filter")
        )
        results: list[SearchResult] = [
            # From the cosine to the scale of results.
            {
                "id": item.key,
                "content": item.text,
                "metadata": dict(item.metadata),
                "score": (1 + (item.score or 0.0)) / 2,
            }
            for item in matches
        ]
        return [
            result
            for result in results
            if result["score"] >= (self.default_score_threshold if least is None else least)
        ]


def _portions(documents: Sequence[BaseRecord], size: int) -> Iterator[Sequence[BaseRecord]]:
    for start in range(0, len(documents), size):
        yield documents[start : start + size]


def _entry(record: BaseRecord) -> Entry:
    metadata = record.get("metadata") or {}
    first = metadata if isinstance(metadata, Mapping) else metadata[0]
    remaining = plain(dict(first))
    return Entry(record.get("doc_id") or digest(record["content"], remaining), record["content"], remaining)


@runtime_checkable
class BaseClient(Protocol):
    """Store texts in collections and search them by meaning; methods with the prefix `a` are asynchronous."""

    client: Any
    embedding_function: Callable[..., Any]

    def create_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None: ...

    async def acreate_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None: ...

    def get_or_create_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> Any: ...

    async def aget_or_create_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> Any: ...

    def add_documents(self, **kwargs: Unpack[BaseCollectionAddParams]) -> None: ...

    async def aadd_documents(self, **kwargs: Unpack[BaseCollectionAddParams]) -> None: ...

    def search(self, **kwargs: Unpack[BaseCollectionSearchParams]) -> list[SearchResult]: ...

    async def asearch(self, **kwargs: Unpack[BaseCollectionSearchParams]) -> list[SearchResult]: ...

    def delete_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None: ...

    async def adelete_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None: ...

    def reset(self) -> None: ...

    async def areset(self) -> None: ...


class BaseRAGStorage(ABC):
    """Base class of custom storages with abstract methods; crewgraph's implementation is `RAGStorage`.

    Args:
        type: the kind of data: "short_term", "entities" or a custom name.
        allow_reset: whether `reset` is allowed.
        embedder_config: the embedder, in any form that `embedder=` accepts.
        crew: the owner; `agents` is derived from the roles of its agents.
    """

    app: Any = None
    """The store, once it exists."""

    def __init__(self, type: str, allow_reset: bool = True, embedder_config: Any = None, crew: Any = None) -> None:
        self.type, self.allow_reset, self.embedder_config, self.crew = type, allow_reset, embedder_config, crew
        self.agents = self._initialize_agents()

    def _initialize_agents(self) -> str:
        """Return the roles of the crew's agents, sanitized and joined with `_`."""
        return "_".join(self._sanitize_role(_written(agent)) for agent in self.crew.agents) if self.crew else ""

    @abstractmethod
    def _sanitize_role(self, role: str) -> str:
        """Return a role as part of a name."""

    @abstractmethod
    def save(self, value: Any, metadata: dict[str, Any]) -> None:
        """Store a value."""

    @abstractmethod
    def search(
        self, query: str, limit: int = 5, filter: dict[str, Any] | None = None, score_threshold: float = 0.6
    ) -> list[Any]:
        """Return the best matches for a query, best first."""

    @abstractmethod
    def reset(self) -> None:
        """Delete everything."""


BaseRAGStorage.register(RAGStorage)


def _written(agent: Any) -> str:
    """Return an agent's role without interpolated values."""
    return agent.template("role") or "" if isinstance(agent, BaseAgent) else agent.role
