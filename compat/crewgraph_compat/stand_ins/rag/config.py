"""Storage and search configurations of CrewAI's vector stores; here all of them use FAISS on SQLite."""

from collections.abc import Mapping
from dataclasses import field
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from crewgraph.errors import StorageError

__all__ = [
    "DOCLING_AVAILABLE",
    "MEMORY",
    "BaseRagConfig",
    "ChromaDBConfig",
    "MissingChromaDBConfig",
    "MissingProvider",
    "MissingQdrantConfig",
    "QdrantConfig",
    "RagConfigType",
    "SupportedProvider",
]


MEMORY = ":memory:"
"""The location of an in-memory store."""

_SERVER = ("url", "host", "location", "chroma_server_host")

SupportedProvider = Literal["chromadb", "qdrant"]
"""The supported stores under CrewAI's names."""


@dataclass(frozen=True, config=ConfigDict(arbitrary_types_allowed=True))
class BaseRagConfig:
    """Settings shared by all stores."""

    provider: SupportedProvider
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
    def shelf(self) -> tuple[str, ...]:
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
        """Return the folder or file of the collections, or `MEMORY`, or None for the storage folder.

        Raises:
            StorageError: The options name a server.
        """
        if self.options.get("location") == MEMORY:
            return MEMORY
        _refuse_servers(self.options, "Qdrant")
        return str(self.options.get("path") or "") or None

    @property
    def shelf(self) -> tuple[str, ...]:
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


@dataclass(frozen=True)
class MissingProvider:
    """A store whose package is not installed.

    Raises:
        StorageError: Always.
    """

    provider: Literal["chromadb", "qdrant", "__missing__"] = "__missing__"
    instead: ClassVar[str] = "ChromaDBConfig()"

    def __post_init__(self, *_given: Any) -> None:
        raise StorageError(
            f"`{type(self).__name__}` names a store that is not installed, and none is needed: write "
            f"`{self.instead}`, and texts are stored with FAISS."
        )


@dataclass(frozen=True)
class MissingChromaDBConfig(MissingProvider):
    """The placeholder for ChromaDB if it is not installed."""

    provider: Literal["chromadb"] = "chromadb"


@dataclass(frozen=True)
class MissingQdrantConfig(MissingProvider):
    """The placeholder for Qdrant if it is not installed."""

    provider: Literal["qdrant"] = "qdrant"
    instead: ClassVar[str] = "QdrantConfig()"


DOCLING_AVAILABLE = find_spec("docling") is not None
