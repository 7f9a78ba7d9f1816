"""Configurations that stand for a store whose package is not installed: none can be made."""

from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from crewgraph.errors import StorageError

__all__ = ["MissingChromaDBConfig", "MissingProvider", "MissingQdrantConfig"]


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
