"""Memory of people, places and things."""

from typing import Any, ClassVar

from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.outages import is_outage
from crewgraph.errors import StorageError
from crewgraph.memory.events import save_with_events
from crewgraph.memory.items import EntityMemoryItem
from crewgraph.memory.short_term import StoredMemory
from crewgraph.memory.storage import resolve_storage
from crewgraph.schema import Metadata

__all__ = ["EntityMemory"]


class EntityMemory(StoredMemory):
    """A memory of facts about people, places and things.

        EntityMemory(storage=RAGStorage(type="entities", path="./memory"))

    Args:
        crew: the crew that owns it.
        embedder_config: the embedder: `{"provider": ..., "config": {...}}`.
        storage: a `Storage` or a LangGraph store.
        path: a folder or a database file instead.
    """

    kind: ClassVar[str] = "entity_memory"
    stored_as: ClassVar[str] = "entities"

    def __init__(
        self, crew: object = None, embedder_config: Any = None, storage: object = None, path: object = None
    ) -> None:
        resolved = resolve_storage(self.stored_as, storage, crew, embedder_config, path)
        super().__init__(storage=resolved, crew=crew, embedder_config=embedder_config)

    def save(self, value: "EntityMemoryItem | list[EntityMemoryItem]", metadata: Metadata | None = None) -> None:
        """Save entities, each with its own metadata; a failure does not prevent saving the others.

        Raises:
            StorageError: some could not be saved.
        """
        items = value if isinstance(value, list) else [value]
        if items:
            save_with_events(self, self.kind, None, {"entity_count": len(items)}, lambda: self._save_items(items))

    async def asave(self, value: "EntityMemoryItem | list[EntityMemoryItem]", metadata: Metadata | None = None) -> None:
        """Async `save`."""
        await acall(self.save, value, metadata)

    def _save_items(self, items: list[EntityMemoryItem]) -> dict[str, object]:
        errors: list[str] = []
        first: Exception | None = None
        for item in items:
            try:
                call(self.storage.save, _entity_text(item), item.metadata)
            except Exception as error:  # raised once the others are saved
                if not is_outage(error):
                    raise
                first = first or error
                errors.append(f"{item.name}: {error}")
        if errors:
            raise StorageError(
                f"{len(errors)} of {len(items)} entities could not be saved: {'; '.join(errors)}"
            ) from first
        value = _entity_text(items[0]) if len(items) == 1 else f"{len(items)} entities"
        return {"value": value, "metadata": {"entity_count": len(items)}}


def _entity_text(item: EntityMemoryItem) -> str:
    return f"{item.name}({item.type}): {item.description}"
