"""What a storage of one's own has, to be given to a memory.

Who makes the storages that memories name by a text.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from crewgraph.memory.records import MemoryRecord, ScopeInfo

__all__ = [
    "EmbeddingDimensionMismatchError",
    "MemoryStorageFactory",
    "StorageBackend",
    "resolve_memory_storage",
    "set_memory_storage_factory",
]


class EmbeddingDimensionMismatchError(ValueError):
    """Vectors of another length are kept; for storages of one's own: ours embeds anew."""

    def __init__(self, stored_dim: int, new_dim: int) -> None:
        self.stored_dim, self.new_dim = stored_dim, new_dim
        super().__init__(
            f"vectors of {stored_dim} numbers are kept, and the embedder makes {new_dim}. Reset the memory, or go back to the "
            "embedder that it was filled with."
        )


@runtime_checkable
class StorageBackend(Protocol):
    """A storage of one's own: `Memory(storage=MyStorage())`.

    The memory embeds; records come with their `embedding`. A scope prefix means the scope and all below it: `/a` is no prefix of
    `/ab`. Methods may be async; `asave`, `asearch` and `adelete` are taken on an event loop where they are there.
    """

    def save(self, records: list[MemoryRecord]) -> None:
        """Keep records; those of the same id are replaced."""

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """The nearest records with their nearness, 0 to 1, the nearest first."""
        ...

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forget the records that meet all of it; how many there were."""
        ...

    def update(self, record: MemoryRecord) -> None:
        """Replace the record of this id."""

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """The record of an id."""
        ...

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Records, the newest first."""
        ...

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """What is in a scope."""
        ...

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes right below a scope."""
        ...

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """How many records there are of each category."""
        ...

    def count(self, scope_prefix: str | None = None) -> int:
        """How many records there are."""
        ...

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget all records."""


MemoryStorageFactory = Callable[[str], Any]
"""Is given what a memory says of its storage: "lancedb" where it says nothing; gives a `StorageBackend`, or None for the
usual one."""

_set: list[MemoryStorageFactory] = []


def set_memory_storage_factory(factory: MemoryStorageFactory | None) -> None:
    """Let a function make the storages of memories that are made from here on, in this process; None for none."""
    _set[:] = [] if factory is None else [factory]


def resolve_memory_storage(spec: str) -> Any:
    """What that function makes of a text; None where there is no such function."""
    return _set[0](spec) if _set else None
