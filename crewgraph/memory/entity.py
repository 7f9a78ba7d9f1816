"""The memory of people, places and things."""

from typing import Any, ClassVar

from crewgraph.core.loops.bridge import call, in_thread
from crewgraph.errors import StorageError
from crewgraph.memory.events import told_save
from crewgraph.memory.items import EntityMemoryItem
from crewgraph.memory.short_term import StoredMemory
from crewgraph.memory.storage import provided_storage

__all__ = ["EntityMemory"]


class EntityMemory(StoredMemory):
    """What is known of people, places and things.

        EntityMemory(storage=RAGStorage(type="entities", path="./memory"))

    Args:
        crew: whose it is.
        embedder_config: what turns texts into vectors: `{"provider": ..., "config": {...}}`.
        storage: where it is kept; a `Storage`, or a LangGraph store.
        path: a folder or a database file instead.
    """

    kind: ClassVar[str] = "entity_memory"
    kept_as: ClassVar[str] = "entities"

    def __init__(self, crew: Any = None, embedder_config: Any = None, storage: Any = None, path: Any = None) -> None:
        kept = provided_storage(self.kept_as, storage, crew, embedder_config, path)
        super().__init__(storage=kept, crew=crew, embedder_config=embedder_config)

    def save(self, value: "EntityMemoryItem | list[EntityMemoryItem]", metadata: dict[str, Any] | None = None) -> None:
        """Keep entities, each with its own metadata; one that cannot be kept does not keep the others away.

        Raises:
            StorageError: some could not be kept.
        """
        items = value if isinstance(value, list) else [value]
        if items:
            told_save(self, self.kind, None, {"entity_count": len(items)}, lambda: self._saved(items))

    async def asave(
        self, value: "EntityMemoryItem | list[EntityMemoryItem]", metadata: dict[str, Any] | None = None
    ) -> None:
        """Keep entities; see `save`."""
        await in_thread(self.save, value, metadata)

    def _saved(self, items: list[EntityMemoryItem]) -> dict[str, Any]:
        errors: list[str] = []
        for item in items:
            try:
                call(self.storage.save, _worded(item), item.metadata)
            except Exception as error:  # noqa: BLE001 - raised once the others are kept
                errors.append(f"{item.name}: {error}")
        if errors:
            raise StorageError(f"{len(errors)} of {len(items)} entities could not be kept: {'; '.join(errors)}")
        told = _worded(items[0]) if len(items) == 1 else f"{len(items)} entities"
        return {"value": told, "metadata": {"entity_count": len(items)}}


def _worded(item: EntityMemoryItem) -> str:
    return f"{item.name}({item.type}): {item.description}"
