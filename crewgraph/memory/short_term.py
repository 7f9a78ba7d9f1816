"""The memory of what a crew is busy with."""

from typing import Any, ClassVar

from crewgraph.memory.provided import provided_storage
from crewgraph.memory.stored import StoredMemory

__all__ = ["ShortTermMemory"]


class ShortTermMemory(StoredMemory):
    """What agents found out: results of tools, and answers.

        ShortTermMemory(storage=RAGStorage(type="short_term", embedder_config={...}, path="./memory"))

    Args:
        crew: whose it is.
        embedder_config: what turns texts into vectors: `{"provider": ..., "config": {...}}`.
        storage: where it is kept; a `Storage`, or a LangGraph store.
        path: a folder or a database file instead.
    """

    kind: ClassVar[str] = "short_term_memory"
    kept_as: ClassVar[str] = "short_term"

    def __init__(self, crew: Any = None, embedder_config: Any = None, storage: Any = None, path: Any = None) -> None:
        kept = provided_storage(self.kept_as, storage, crew, embedder_config, path)
        super().__init__(storage=kept, crew=crew, embedder_config=embedder_config)
