"""The memory of what a crew is busy with.

What the kinds of memory have in common: a storage, and the verbs on it.
"""

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from crewgraph.core.loops.bridge import call, in_thread
from crewgraph.memory.events import told_save, told_search
from crewgraph.memory.storage import RAGStorage, provided_storage

__all__ = ["ShortTermMemory", "StoredMemory"]


class StoredMemory(BaseModel):
    """A memory with a storage of its own.

    Each verb has a sibling for event loops, with an `a` before its name, which calls it in a thread: who overrides `save`
    has overridden `asave`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    kind: ClassVar[str] = "memory"
    """What its events call it."""

    kept_as: ClassVar[str] = "memory"
    """What it is called in a store."""

    embedder_config: Any = None
    """What turns its texts into vectors."""

    crew: Any = Field(default=None, exclude=True, repr=False)
    """The crew that remembers."""

    storage: Any
    """Where it keeps its entries: a `Storage`, or any object with its verbs. A LangGraph store is put into one."""

    _made: bool = PrivateAttr(default=False)
    _agent: Any = PrivateAttr(default=None)
    _task: Any = PrivateAttr(default=None)

    def __init__(self, storage: Any = None, **data: Any) -> None:
        if callable(getattr(storage, "batch", None)):  # a LangGraph store
            storage = RAGStorage(
                type=self.kept_as, crew=data.get("crew"), embedder_config=data.get("embedder_config"), path=storage
            )
        super().__init__(storage=storage, **data)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # what is remembered is where it is

    def made(self) -> Self:
        """Note that it was made for a crew with `memory=True`, not given to it."""
        self._made = True
        return self

    @property
    def is_made(self) -> bool:
        """Whether it was made for a crew with `memory=True`."""
        return self._made

    @property
    def agent(self) -> Any:
        """The agent that remembers, for events, where it is used outside of a run."""
        return self._agent

    @agent.setter
    def agent(self, agent: Any) -> None:
        self._agent = agent

    @property
    def task(self) -> Any:
        """The task that is remembered for, for events, where it is used outside of a run."""
        return self._task

    @task.setter
    def task(self, task: Any) -> None:
        self._task = task

    def save(self, value: Any, metadata: dict[str, Any] | None = None) -> None:
        """Keep a text.

        Args:
            value: the text.
            metadata: what is noted with it, JSON data.

        Raises:
            StorageError: it cannot be kept. A storage of your own raises what it raises.
        """
        noted = {} if metadata is None else metadata

        def work() -> None:
            call(self.storage.save, value, noted)

        told_save(self, self.kind, _text(value), metadata, work)

    async def asave(self, value: Any, metadata: dict[str, Any] | None = None) -> None:
        """Keep a text; see `save`."""
        await in_thread(self.save, value, metadata)

    def search(self, query: str, limit: int = 5, score_threshold: float = 0.6) -> list[Any]:
        """The entries nearest to a text, the nearest first: dicts with `content`, `metadata`, `score` and `id`.

        Args:
            query: the text.
            limit: at most so many.
            score_threshold: how near they are at least: 1 is the same, 0.5 is nothing in common.

        Raises:
            StorageError: they cannot be found. A storage of your own raises what it raises.
        """

        def work() -> list[Any]:
            return call(self.storage.search, query=query, limit=limit, score_threshold=score_threshold)

        return told_search(self, self.kind, query, limit, score_threshold, work)

    async def asearch(self, query: str, limit: int = 5, score_threshold: float = 0.6) -> list[Any]:
        """The entries nearest to a text; see `search`."""
        return await in_thread(self.search, query, limit, score_threshold)

    def reset(self) -> None:
        """Forget everything.

        Raises:
            StorageError: that cannot be done. A storage of your own raises what it raises.
        """
        call(self.storage.reset)

    async def areset(self) -> None:
        """Forget everything; see `reset`."""
        await in_thread(self.reset)

    def set_crew(self, crew: Any) -> Self:
        """Let it be the memory of a crew."""
        self.crew = crew
        return self


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


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
