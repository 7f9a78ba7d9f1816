"""`StoredMemory`, the base of the kinds of memory with a storage, and the short-term memory."""

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from crewgraph.core.loops.bridge import acall, call
from crewgraph.memory.events import save_with_events, search_with_events
from crewgraph.memory.storage import RAGStorage, resolve_storage
from crewgraph.schema import Metadata

__all__ = ["ShortTermMemory", "StoredMemory"]


class StoredMemory(BaseModel):
    """The base of memories with their own storage.

    Each method has an async form with the prefix `a`, which runs the sync method in a thread: overriding `save` also overrides
    `asave`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    kind: ClassVar[str] = "memory"
    """Its name in events."""

    stored_as: ClassVar[str] = "memory"
    """Its name in a store."""

    embedder_config: Any = None
    """The embedder's configuration."""

    crew: Any = Field(default=None, exclude=True, repr=False)
    """The crew that owns it."""

    storage: Any
    """A `Storage` or any object with its methods. A LangGraph store is wrapped in one."""

    _automatic: bool = PrivateAttr(default=False)
    _agent: Any = PrivateAttr(default=None)
    _task: Any = PrivateAttr(default=None)

    def __init__(self, storage: object = None, **data: object) -> None:
        if callable(getattr(storage, "batch", None)):  # a LangGraph store
            storage = RAGStorage(
                type=self.stored_as, crew=data.get("crew"), embedder_config=data.get("embedder_config"), path=storage
            )
        super().__init__(storage=storage, **data)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # the records stay in place

    def mark_automatic(self) -> Self:
        """Record that it was created for a crew with `memory=True`, not passed to it."""
        self._automatic = True
        return self

    @property
    def is_automatic(self) -> bool:
        """Whether it was created for a crew with `memory=True`."""
        return self._automatic

    @property
    def agent(self) -> Any:
        """The remembering agent, for events outside of runs."""
        return self._agent

    @agent.setter
    def agent(self, agent: object) -> None:
        """The agent, for events, if used outside a run."""
        self._agent = agent

    @property
    def task(self) -> Any:
        """The task of the memories, for events outside of runs."""
        return self._task

    @task.setter
    def task(self, task: object) -> None:
        """The task, for events, if used outside a run."""
        self._task = task

    def save(self, value: Any, metadata: Metadata | None = None) -> None:
        """Save a text.

        Args:
            value: the text.
            metadata: JSON data.

        Raises:
            StorageError: it cannot be saved. A custom storage raises its own errors.
        """
        fields = {} if metadata is None else metadata

        def work() -> None:
            call(self.storage.save, value, fields)

        save_with_events(self, self.kind, _text(value), metadata, work)

    async def asave(self, value: Any, metadata: Metadata | None = None) -> None:
        """Async `save`."""
        await acall(self.save, value, metadata)

    def search(self, query: str, limit: int = 5, score_threshold: float = 0.6) -> list[Any]:
        """The entries most similar to a text, best first: dicts with `content`, `metadata`, `score` and `id`.

        Args:
            query: the text.
            limit: the maximum number of entries.
            score_threshold: the minimum score: 1 is identical, 0.5 is unrelated.

        Raises:
            StorageError: the storage cannot be searched. A custom storage raises its own errors.
        """

        def work() -> list[Any]:
            return call(self.storage.search, query=query, limit=limit, score_threshold=score_threshold)

        return search_with_events(self, self.kind, query, limit, score_threshold, work)

    async def asearch(self, query: str, limit: int = 5, score_threshold: float = 0.6) -> list[Any]:
        """Async `search`."""
        return await acall(self.search, query, limit, score_threshold)

    def reset(self) -> None:
        """Delete everything.

        Raises:
            StorageError: the storage cannot be written. A custom storage raises its own errors.
        """
        call(self.storage.reset)

    async def areset(self) -> None:
        """Async `reset`."""
        await acall(self.reset)

    def set_crew(self, crew: object) -> Self:
        """Assign the memory to a crew."""
        self.crew = crew
        return self


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


class ShortTermMemory(StoredMemory):
    """A memory of what agents found out: tool results and answers.

        ShortTermMemory(storage=RAGStorage(type="short_term", embedder_config={...}, path="./memory"))

    Args:
        crew: the crew that owns it.
        embedder_config: the embedder: `{"provider": ..., "config": {...}}`.
        storage: a `Storage` or a LangGraph store.
        path: a folder or a database file instead.
    """

    kind: ClassVar[str] = "short_term_memory"
    stored_as: ClassVar[str] = "short_term"

    def __init__(
        self, crew: object = None, embedder_config: Any = None, storage: object = None, path: object = None
    ) -> None:
        resolved = resolve_storage(self.stored_as, storage, crew, embedder_config, path)
        super().__init__(storage=resolved, crew=crew, embedder_config=embedder_config)
