"""How texts are stored and searched, in the words of the stores that CrewAI knows; here all of them are FAISS on SQLite."""

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
"""The place of what ends with the process."""

_SERVER = ("url", "host", "location", "chroma_server_host")

SupportedProvider = Literal["chromadb", "qdrant"]
"""The stores by CrewAI's names."""


@dataclass(frozen=True, config=ConfigDict(arbitrary_types_allowed=True))
class BaseRagConfig:
    """What all stores are told."""

    provider: SupportedProvider
    embedding_function: Any = None
    """What turns texts into vectors, in any form that `embedder=` takes; the local embedder where None."""

    limit: int = 5
    """How many texts a search finds at most."""

    score_threshold: float = 0.6
    """From 0 to 1, how near they are at least; 0.5 has nothing to do with the query."""

    batch_size: int = 100
    """How many texts are embedded at once."""


@dataclass(frozen=True, config=ConfigDict(arbitrary_types_allowed=True))
class ChromaDBConfig(BaseRagConfig):
    """What programs say of ChromaDB; the vectors are kept with FAISS."""

    provider: Literal["chromadb"] = "chromadb"
    tenant: str = "default_tenant"
    """Collections of another tenant or database are others."""

    database: str = "default_database"
    settings: Any = None
    """ChromaDB's settings, of which `persist_directory` is the folder that the collections are kept in."""

    @property
    def place(self) -> str | None:
        """The folder or file to keep collections in; None for the storage folder.

        Raises:
            StorageError: The settings name a server.
        """
        _refuse_servers(self.settings, "ChromaDB")
        return str(_said(self.settings, "persist_directory") or "") or None

    @property
    def shelf(self) -> tuple[str, ...]:
        """What stands before the names of collections."""
        return (self.tenant, self.database)


@dataclass(frozen=True, config=ConfigDict(arbitrary_types_allowed=True))
class QdrantConfig(BaseRagConfig):
    """What programs say of Qdrant; the vectors are kept with FAISS."""

    provider: Literal["qdrant"] = "qdrant"
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    """What Qdrant's client is told, of which `path` is the folder that the collections are kept in."""

    vectors_config: Any = None
    """How long vectors are; the embedder knows."""

    @property
    def place(self) -> str | None:
        """The folder or file to keep collections in, or `MEMORY`; None for the storage folder.

        Raises:
            StorageError: The options name a server.
        """
        if self.options.get("location") == MEMORY:
            return MEMORY
        _refuse_servers(self.options, "Qdrant")
        return str(self.options.get("path") or "") or None

    @property
    def shelf(self) -> tuple[str, ...]:
        """What stands before the names of collections."""
        return ("qdrant",)


RagConfigType = Annotated[ChromaDBConfig | QdrantConfig, Field(discriminator="provider")]
"""Any of them, told apart by `provider`."""


def _said(settings: Any, name: str) -> Any:
    if not isinstance(settings, Mapping):
        value = getattr(settings, "model_fields_set", None)
        return getattr(settings, name, None) if value is None or name in value else None
    return settings.get(name)  # pyright: ignore[reportUnknownVariableType]


def _refuse_servers(settings: Any, whose: str) -> None:
    for name in _SERVER:
        if server := _said(settings, name):
            raise StorageError(
                f"`{name}={server!r}` names a server of {whose}, and crewgraph keeps vectors in a file of its own, with FAISS. "
                "Take it out to have the texts embedded here, or search that server with its own tool, as "
                "`QdrantVectorSearchTool`."
            )


@dataclass(frozen=True)
class MissingProvider:
    """A store that is not installed.

    Raises:
        StorageError: it is made.
    """

    provider: Literal["chromadb", "qdrant", "__missing__"] = "__missing__"
    instead: ClassVar[str] = "ChromaDBConfig()"

    def __post_init__(self, *_given: Any) -> None:
        raise StorageError(
            f"`{type(self).__name__}` stands for a store that is not installed, and here none has to be: write "
            f"`{self.instead}`, and texts are kept with FAISS."
        )


@dataclass(frozen=True)
class MissingChromaDBConfig(MissingProvider):
    """ChromaDB, where it is not installed."""

    provider: Literal["chromadb"] = "chromadb"


@dataclass(frozen=True)
class MissingQdrantConfig(MissingProvider):
    """Qdrant, where it is not installed."""

    provider: Literal["qdrant"] = "qdrant"
    instead: ClassVar[str] = "QdrantConfig()"


DOCLING_AVAILABLE = find_spec("docling") is not None
