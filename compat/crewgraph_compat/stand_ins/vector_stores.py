"""The vector store clients that crewai_tools searches with; here all of them store texts with FAISS on SQLite."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Annotated, Any, Literal, Required

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

from crewgraph.core.digests import digest
from crewgraph.core.operations import Program, drive
from crewgraph.core.plain import plain
from crewgraph.errors import StorageError
from crewgraph.knowledge.passage import SearchResult
from crewgraph.storage.store.faiss_store import FaissStore
from crewgraph.storage.store.namespace import Entry, FoundEntry, StoreNamespace
from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.resolve import embedder_of

_FILE = "rag.db"
_MEMORY = ":memory:"
_SERVER = ("url", "host", "location", "chroma_server_host")


@dataclass(frozen=True, config=ConfigDict(arbitrary_types_allowed=True))
class BaseRagConfig:
    """Settings shared by all stores."""

    provider: Literal["chromadb", "qdrant"]
    embedding_function: Any = None
    """The embedder, in any form that `embedder=` accepts; None selects the local embedder."""

    limit: int = 5
    """The maximum number of search results."""

    score_threshold: float = 0.6
    """The minimum score, from 0 to 1; 0.5 means unrelated to the query."""

    batch_size: int = 100
    """The number of texts embedded per batch."""


@dataclass(frozen=True, config=ConfigDict(arbitrary_types_allowed=True))
class ChromaDBConfig(BaseRagConfig):
    """A ChromaDB configuration; the vectors are stored with FAISS."""

    provider: Literal["chromadb"] = "chromadb"
    tenant: str = "default_tenant"
    """The tenant and the database separate collections."""

    database: str = "default_database"
    settings: Any = None
    """ChromaDB's settings; `persist_directory` is the folder of the collections."""

    @property
    def place(self) -> str | None:
        """Return the folder or file of the collections, or None for the storage folder.

        Raises:
            StorageError: The settings name a server.
        """
        _refuse_servers(self.settings, "ChromaDB")
        return str(_setting(self.settings, "persist_directory") or "") or None

    @property
    def namespace(self) -> tuple[str, ...]:
        """Return the prefix of collection names."""
        return (self.tenant, self.database)


@dataclass(frozen=True, config=ConfigDict(arbitrary_types_allowed=True))
class QdrantConfig(BaseRagConfig):
    """A Qdrant configuration; the vectors are stored with FAISS."""

    provider: Literal["qdrant"] = "qdrant"
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    """The options of Qdrant's client; `path` is the folder of the collections."""

    vectors_config: Any = None
    """Vector parameters; ignored, since the embedder determines the dimension."""

    @property
    def place(self) -> str | None:
        """Return the folder or file of the collections, `:memory:`, or None for the storage folder.

        Raises:
            StorageError: The options name a server.
        """
        if self.options.get("location") == _MEMORY:
            return _MEMORY
        _refuse_servers(self.options, "Qdrant")
        return str(self.options.get("path") or "") or None

    @property
    def namespace(self) -> tuple[str, ...]:
        """Return the prefix of collection names."""
        return ("qdrant",)


RagConfigType = Annotated[ChromaDBConfig | QdrantConfig, Field(discriminator="provider")]
"""Any configuration, discriminated by `provider`."""


def _setting(settings: Any, name: str) -> Any:
    if not isinstance(settings, Mapping):
        value = getattr(settings, "model_fields_set", None)
        return getattr(settings, name, None) if value is None or name in value else None
    return settings.get(name)  # pyright: ignore[reportUnknownVariableType]


def _refuse_servers(settings: Any, owner: str) -> None:
    for name in _SERVER:
        if server := _setting(settings, name):
            raise StorageError(
                f"`{name}={server!r}` names a server of {owner}, but crewgraph stores vectors in a file, with FAISS. "
                "Remove it to embed the texts here, or search that server with its own tool, such as "
                "`QdrantVectorSearchTool`."
            )


class BaseRecord(TypedDict, total=False):
    """A text to be stored."""

    doc_id: str
    """The document id; derived from the text and its metadata if missing."""

    content: Required[str]
    metadata: Mapping[str, str | int | float | bool] | list[Mapping[str, str | int | float | bool]]
    """The metadata; only the first entry of a list is used."""


class BaseClient:
    """Store texts in collections and search them by meaning.

    Collections belong to the working directory. An empty collection counts as missing.

    Args:
        config: The store and its settings; nothing is opened until first use.

    Raises:
        EmbedderError: `embedding_function` is not an embedder.
        StorageError: The configuration names a server.
    """

    def __init__(self, config: ChromaDBConfig | QdrantConfig) -> None:
        self.config = config
        self.embedding_function: NamedEmbedder = embedder_of(config.embedding_function)
        place = config.place
        self._storage = FaissStore(embedder=self.embedding_function) if place == _MEMORY else place

    def create_collection(self, *, collection_name: str) -> None:
        """Check that no collection has this name yet.

        Raises:
            ValueError: A collection with this name exists.
        """
        if drive(self._collection(collection_name).listing(limit=1)):
            raise ValueError(
                f"the collection `{collection_name}` already exists; `get_or_create_collection` returns an existing one."
            )

    def get_or_create_collection(self, *, collection_name: str) -> StoreNamespace:
        """Return the namespace of a collection."""
        return self._collection(collection_name)

    def add_documents(
        self, *, collection_name: str, documents: Sequence[BaseRecord], batch_size: int | None = None
    ) -> None:
        """Store texts, replacing those with the same `doc_id` or text.

        Args:
            collection_name: The collection.
            documents: The texts.
            batch_size: The number of texts embedded per batch; defaults to the configuration.

        Raises:
            ValueError: There are no documents.
            StorageError: The texts cannot be embedded or written.
        """
        if not documents:
            raise ValueError("there are no documents to store: the list is empty.")
        drive(self._adding(self._collection(collection_name), documents, batch_size or self.config.batch_size))

    def search(
        self,
        *,
        collection_name: str,
        query: str,
        limit: int | None = None,
        metadata_filter: dict[str, Any] | None = None,
        score_threshold: float | None = None,
    ) -> list[SearchResult]:
        """Return the best matches, best first.

        Args:
            collection_name: The collection.
            query: The text to compare with.
            limit: The maximum number of matches; defaults to the configuration.
            metadata_filter: Values that the metadata must have.
            score_threshold: The minimum score, from 0 to 1; defaults to the configuration.

        Raises:
            StorageError: The store cannot be searched.
        """
        count = self.config.limit if limit is None else limit
        least = self.config.score_threshold if score_threshold is None else score_threshold
        found = drive(self._collection(collection_name).searching(query, count, filter=metadata_filter))
        return [result for result in map(_result, found) if result["score"] >= least]

    def delete_collection(self, *, collection_name: str) -> None:
        """Delete a collection."""
        self._collection(collection_name).reset()

    def reset(self) -> None:
        """Delete all collections."""
        self._collection().reset()

    def _collection(self, *name: str) -> StoreNamespace:
        names = ("rag", *self.config.namespace, *name)
        return StoreNamespace(*names, storage=self._storage, embedder=self.embedding_function, file=_FILE)

    def _adding(self, collection: StoreNamespace, documents: Sequence[BaseRecord], size: int) -> Program[None]:
        for batch in _batches(documents, size):
            yield from collection.putting([_entry(record) for record in batch])


def _batches(documents: Sequence[BaseRecord], size: int) -> Iterator[Sequence[BaseRecord]]:
    for start in range(0, len(documents), size):
        yield documents[start : start + size]


def _entry(record: BaseRecord) -> Entry:
    metadata = record.get("metadata") or {}
    first = metadata if isinstance(metadata, Mapping) else metadata[0]
    values = plain(dict(first))
    return Entry(record.get("doc_id") or digest(record["content"], values), record["content"], values)


def _result(entry: FoundEntry) -> SearchResult:
    """Return a match with its cosine on the scale of results, from 0 to 1."""
    score = (1 + (entry.score or 0.0)) / 2
    return {"id": entry.key, "content": entry.text, "metadata": dict(entry.metadata), "score": score}


def create_client(config: ChromaDBConfig | QdrantConfig) -> BaseClient:
    """Create the client for a configuration.

    Raises:
        EmbedderError: Its `embedding_function` is not an embedder.
        StorageError: It names a server.
    """
    return BaseClient(config)


@cache
def get_rag_client() -> BaseClient:
    """Return the client that tools share, with the local embedder."""
    return create_client(ChromaDBConfig())
