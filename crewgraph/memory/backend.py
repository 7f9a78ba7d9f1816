"""The interface of custom memory storages, and the factory that creates storages from a text."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from crewgraph.core.loops.bridge import call
from crewgraph.errors import PicklableError
from crewgraph.memory.records import MemoryRecord, ScopeInfo
from crewgraph.schema import Metadata


class EmbeddingDimensionMismatchError(PicklableError, ValueError):
    """The stored vectors have another length. For custom storages: the built-in one embeds again."""

    def __init__(self, stored_dim: int, new_dim: int) -> None:
        self.stored_dim, self.new_dim = stored_dim, new_dim
        super().__init__(
            f"the stored vectors have {stored_dim} dimensions, and those of the embedder {new_dim}. Reset the memory, or use the "
            "embedder that it was filled with."
        )


@runtime_checkable
class StorageBackend(Protocol):
    """A custom storage: `Memory(storage=MyStorage())`.

    The memory embeds; records come with their `embedding`. A scope prefix means the scope and all below it: `/a` is not a
    prefix of `/ab`. Methods may be async; `asave`, `asearch` and `adelete` are preferred on an event loop if they exist.
    """

    def save(self, records: list[MemoryRecord]) -> None:
        """Save records, replacing those with the same id."""

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: Metadata | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """The nearest records with their similarity, 0 to 1, nearest first."""
        ...

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: Metadata | None = None,
    ) -> int:
        """Delete the records that match all conditions and return their number."""
        ...

    def update(self, record: MemoryRecord) -> None:
        """Replace the record with the same id."""

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """The record of an id; None if there is none."""
        ...

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Records, newest first."""
        ...

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Statistics of a scope."""
        ...

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes directly below a scope."""
        ...

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """The number of records by category."""
        ...

    def count(self, scope_prefix: str | None = None) -> int:
        """The number of records."""
        ...

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete all records."""


MemoryStorageFactory = Callable[[str], Any]
"""Takes a memory's `storage` text, "lancedb" by default; returns a `StorageBackend`, or None for the default storage."""

_factories: list[MemoryStorageFactory] = []


def set_memory_storage_factory(factory: MemoryStorageFactory | None) -> None:
    """Set the function that creates the storages of new memories in this process; None removes it."""
    _factories[:] = [] if factory is None else [factory]


def resolve_memory_storage(spec: str) -> Any:
    """Create a storage with the factory; None without a factory."""
    return call(_factories[0], spec) if _factories else None
