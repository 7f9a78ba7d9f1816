"""The kinds of memory that crews have apart from `Memory`: short-term, long-term, entities, external; and searching them all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from crewgraph.core.loops.bridge import call
from crewgraph.core.methods import other_form
from crewgraph.core.outages import is_outage
from crewgraph.errors import StorageError
from crewgraph.memory.events import memory_events
from crewgraph.memory.items import EntityMemoryItem, LongTermMemoryItem
from crewgraph.memory.storage import LTMSQLiteStorage, LTMStorage, Mem0Storage, RAGStorage, resolve_storage
from crewgraph.prompts.i18n import Book
from crewgraph.schema import Metadata, PlainDict, is_mapping, is_object
from crewgraph.text import shorten


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

    storage: Any = None
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

    @property  # not a field: a subclass may have a property of its own
    def agent(self) -> Any:
        """The remembering agent, for events outside of runs."""
        return self._agent

    @agent.setter
    def agent(self, agent: object) -> None:
        self._agent = agent

    @property
    def task(self) -> Any:
        """The task of the memories, for events outside of runs."""
        return self._task

    @task.setter
    def task(self, task: object) -> None:
        self._task = task

    def save(self, value: Any, metadata: Metadata | None = None) -> None:
        """Save a text.

        Args:
            value: the text.
            metadata: JSON data.

        Raises:
            StorageError: it cannot be saved. A custom storage raises its own errors.
        """
        with memory_events(self, self.kind, value=None if value is None else str(value), metadata=metadata):
            call(self._opened().save, value, {} if metadata is None else metadata)

    asave = other_form(save, "asave")
    """Async `save`."""

    def search(self, query: str, limit: int = 5, score_threshold: float = 0.6) -> list[Any]:
        """The entries most similar to a text, best first: dicts with `content`, `metadata`, `score` and `id`.

        Args:
            query: the text.
            limit: the maximum number of entries.
            score_threshold: the minimum score: 1 is identical, 0.5 is unrelated.

        Raises:
            StorageError: the storage cannot be searched. A custom storage raises its own errors.
        """
        options = {"query": query, "limit": limit, "score_threshold": score_threshold}
        with memory_events(self, self.kind, **options) as found:
            found["results"] = call(self._opened().search, **options)
        return found["results"]

    asearch = other_form(search, "asearch")
    """Async `search`."""

    def reset(self) -> None:
        """Delete everything.

        Raises:
            StorageError: the storage cannot be written. A custom storage raises its own errors.
        """
        call(self._opened().reset)

    areset = other_form(reset, "areset")
    """Async `reset`."""

    def set_crew(self, crew: object) -> Self:
        """Assign the memory to a crew."""
        self.crew = crew
        return self

    def _opened(self) -> Any:
        return self.storage


class _SearchedMemory(StoredMemory):
    stored_as: ClassVar[str]
    """The type of its storage."""

    def __init__(
        self, crew: object = None, embedder_config: Any = None, storage: object = None, path: object = None
    ) -> None:
        resolved = resolve_storage(self.stored_as, storage, crew, embedder_config, path)
        super().__init__(storage=resolved, crew=crew, embedder_config=embedder_config)


class ShortTermMemory(_SearchedMemory):
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


class EntityMemory(_SearchedMemory):
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

    def save(self, value: "EntityMemoryItem | list[EntityMemoryItem]", metadata: Metadata | None = None) -> None:
        """Save entities, each with its own metadata; a failure does not prevent saving the others.

        Raises:
            StorageError: some could not be saved.
        """
        items = value if isinstance(value, list) else [value]
        if not items:
            return
        with memory_events(self, self.kind, value=None, metadata={"entity_count": len(items)}) as saved:
            errors: list[tuple[str, Exception]] = []
            for item in items:
                try:
                    call(self.storage.save, _entity_text(item), item.metadata)
                except Exception as error:  # raised once the others are saved
                    if not is_outage(error):
                        raise
                    errors.append((f"{item.name}: {error}", error))
            if errors:
                reasons = "; ".join(reason for reason, _ in errors)
                raise StorageError(f"{len(errors)} of {len(items)} entities could not be saved: {reasons}") from errors[
                    0
                ][1]
            saved["value"] = _entity_text(items[0]) if len(items) == 1 else f"{len(items)} entities"


def _entity_text(item: EntityMemoryItem) -> str:
    return f"{item.name}({item.type}): {item.description}"


class LongTermMemory(StoredMemory):
    """A memory of how well tasks were done and what to improve, for later runs of tasks with the same description.

        LongTermMemory(storage=LTMSQLiteStorage(db_path="./memory/long_term.db"))

    Args:
        storage: an `LTMSQLiteStorage` or an object with its methods; a LangGraph store.
        path: an SQLite file instead.
    """

    kind: ClassVar[str] = "long_term_memory"

    def __init__(self, storage: object = None, path: str | None = None) -> None:
        if storage is None:
            storage = LTMStorage() if path is None else LTMSQLiteStorage(path)
        elif callable(getattr(storage, "batch", None)):  # a LangGraph store
            storage = LTMStorage(storage)
        super().__init__(storage=storage)

    def save(self, item: LongTermMemoryItem) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Save how well a task was done.

        Raises:
            StorageError: it cannot be saved. A custom storage raises its own errors.
        """
        fields = {**item.metadata, "agent": item.agent, "expected_output": item.expected_output}
        fields.setdefault("quality", item.quality)
        with memory_events(self, self.kind, value=item.task, metadata=item.metadata) as saved:
            call(
                self.storage.save,
                task_description=item.task,
                score=fields["quality"] if item.quality is None else item.quality,
                metadata=fields,
                datetime=item.datetime,
            )
            saved["metadata"] = fields

    asave = other_form(save, "asave")
    """Async `save`."""

    def search(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, task: str, latest_n: int = 3
    ) -> list[PlainDict]:
        """The results of a task, latest first: dicts with `metadata`, `datetime` and `score`.

        Args:
            task: the task's description, exactly as saved.
            latest_n: the maximum number of results.

        Raises:
            StorageError: the storage cannot be read. A custom storage raises its own errors.
        """
        with memory_events(self, self.kind, query=task, limit=latest_n, score_threshold=None) as found:
            results: list[PlainDict] = call(self.storage.load, task, latest_n) or []
            found["results"] = results
        return results

    asearch = other_form(search, "asearch")
    """Async `search`."""


class ExternalMemory(StoredMemory):
    """A memory in a custom `Storage`, or in Mem0.

        ExternalMemory(storage=MyStorage())
        ExternalMemory(embedder_config={"provider": "mem0", "config": {"user_id": "john"}})

    Args:
        storage: a `Storage` or a LangGraph store.
        data: `embedder_config`, which names a provider instead; `crew`.
    """

    kind: ClassVar[str] = "external_memory"
    stored_as: ClassVar[str] = "external"

    def __init__(self, storage: object = None, **data: Any) -> None:
        super().__init__(storage=storage, **data)

    @staticmethod
    def external_supported_storages() -> dict[str, Callable[..., Any]]:
        """The providers by name, with functions that create their storage from a crew and a `config`."""
        return {"mem0": partial(Mem0Storage, "external")}

    @staticmethod
    def create_storage(crew: object, embedder_config: Any) -> Any:
        """Create the storage that a configuration names.

        Raises:
            ValueError: the configuration names no known provider.
            MissingExtra: a package is not installed.
        """
        if not embedder_config:
            raise ValueError(
                "an `ExternalMemory` needs a `storage`, or an `embedder_config` that names a provider: "
                '`{"provider": "mem0", "config": {"user_id": "john"}}`'
            )
        providers = ExternalMemory.external_supported_storages()
        provider = embedder_config.get("provider")
        if provider not in providers:
            raise ValueError(
                f"`embedder_config` of an `ExternalMemory` names the provider {provider!r}; there is "
                f"{', '.join(map(repr, providers))}. For any other one give a `storage` of your own."
            )
        return providers[provider](crew, embedder_config.get("config") or {})

    def set_crew(self, crew: object) -> Self:
        """Assign the memory to a crew, and create its storage if it is only configured.

        Raises:
            ValueError: there is neither a storage nor a provider.
            MissingExtra: the provider's package is not installed.
        """
        super().set_crew(crew)
        if self.storage is None:
            self.storage = self.create_storage(crew, self.embedder_config)
        return self

    def _opened(self) -> Any:
        if self.storage is None:
            if not self.embedder_config:
                raise StorageError("this `ExternalMemory` has no storage: give it a `storage`")
            self.set_crew(self.crew)
        return self.storage


MAX_LATEST = 2
"""The maximum number of entries from the long-term memory."""

MAX_ENTRY_LENGTH = 2000
"""The maximum length of an entry in characters: a tool may have returned a whole book."""


def memory_texts(kind: str, search_results: Any) -> list[str]:
    """The texts of a memory's search results, without duplicates, each at most `MAX_ENTRY_LENGTH` long.

    Args:
        kind: the kind of memory; for the long-term memory the texts are its suggestions.
        search_results: entries, as texts or as dicts with a text.
    """
    results = search_results.get("results") if is_object(search_results) else search_results
    texts: Iterable[str] = (text for entry in results or () for text in _entry_texts(kind, entry))
    return list(dict.fromkeys(filter(None, (shorten(text.strip(), MAX_ENTRY_LENGTH) for text in texts))))


def _entry_texts(kind: str, entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    if not is_mapping(entry):
        return [str(entry.format() if callable(getattr(entry, "format", None)) else entry)]
    if kind == "long_term_memory":
        metadata: PlainDict = entry.get("metadata") or {}
        suggestions: Any = metadata.get("suggestions") or ()
        return [suggestions] if isinstance(suggestions, str) else [str(text) for text in suggestions]
    return [str(next((entry[name] for name in ("content", "context", "memory", "text") if entry.get(name)), ""))]


_SLICES = {
    "long_term_memory": "memory_long_term",
    "short_term_memory": "memory_short_term",
    "entity_memory": "memory_entities",
    "external_memory": "memory_external",
}


def format_memories(texts_by_kind: Mapping[str, Sequence[str]], book: Book) -> str:
    """Search results by kind of memory, as text for a prompt; empty if there are none."""
    sections: list[str] = []
    for kind in ("memory", *_SLICES):
        if texts := texts_by_kind.get(kind):
            memories = "\n".join(text if text.startswith("- ") else f"- {text}" for text in texts)
            sections.append(book.slice(_SLICES[kind], memories=memories) if kind in _SLICES else memories)
    return "\n\n".join(sections)
