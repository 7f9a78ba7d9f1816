"""Storages of knowledge: the base for custom ones, their factory, and the built-in one in a LangGraph store."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Self

from pydantic import ConfigDict

from crewgraph.core.digests import digest
from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.core.plain import plain
from crewgraph.knowledge.passage import Passage, SearchResult
from crewgraph.observe.progress import progress
from crewgraph.overrides import overridable, override_of
from crewgraph.redaction import RedactedModel
from crewgraph.schema import Metadata, PlainDict
from crewgraph.storage.store.namespace import Entry, FoundEntry, StoreNamespace


class BaseKnowledgeStorage(RedactedModel, ABC):
    """The base of knowledge storages; subclass it for a custom one.

    `save`, `search` and `reset` are enough: without `asave`, `asearch` and `areset` they run in a thread on an event loop.
    A class may have fields, or an `__init__` that only sets attributes.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="allow")

    def __new__(cls, *_args: object, **_kwargs: object) -> Self:
        """Allow attributes to be set by an `__init__` that never calls that of its base."""
        instance = super().__new__(cls)
        slots: dict[str, object] = {"extra": dict[str, Any](), "fields_set": set[str](), "private": None}
        for name, value in slots.items():
            object.__setattr__(instance, f"__pydantic_{name}__", value)
        return instance

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # the content stays in place

    @abstractmethod
    def save(self, documents: list[str]) -> None:
        """Save texts."""

    @abstractmethod
    def search(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: Metadata | None = None,
        score_threshold: float = 0.6,
    ) -> list[SearchResult]:
        """The stored texts that match a query, best first."""

    @abstractmethod
    def reset(self) -> None:
        """Delete everything."""

    async def asave(self, documents: list[str]) -> None:
        """Async `save`."""
        await acall(self.save, documents)

    async def asearch(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: Metadata | None = None,
        score_threshold: float = 0.6,
    ) -> list[SearchResult]:
        """Async `search`."""
        return await acall(self.search, query, limit, metadata_filter, score_threshold)

    async def areset(self) -> None:
        """Async `reset`."""
        await acall(self.reset)


KnowledgeStorageFactory = Callable[[Any, str | None], BaseKnowledgeStorage | None]
"""Takes an embedder and a collection's name; returns their storage, or None for the default one."""

_factories: list[KnowledgeStorageFactory] = []


def set_knowledge_storage_factory(factory: KnowledgeStorageFactory | None) -> None:
    """Set the function that creates the storage of knowledge without one, in this process; None removes it."""
    _factories[:] = [] if factory is None else [factory]


def resolve_knowledge_storage(embedder: object, collection_name: str | None) -> BaseKnowledgeStorage | None:
    """Create a storage with the factory; None without a factory."""
    return call(_factories[0], embedder, collection_name) if _factories else None


_FILE = "knowledge.db"
_SAVED_UNIT = "saved"
"""The unit of texts that were saved without one."""

_PAGE = 20
_GROWTH = 4


class KnowledgeStorage(BaseKnowledgeStorage):
    """A collection of passages in a store, separate from other projects and collections."""

    collection_name: str | None = None
    """The name of the collection."""

    embedder: Any = None
    """The embedder; None for the local one."""

    store: Any = None
    """A LangGraph store with an index, or the path of a folder or database file; None for `knowledge.db` in the storage
    folder.
    """

    def __init__(self, embedder: object = None, collection_name: str | None = None, **data: object) -> None:
        super(BaseKnowledgeStorage, self).__init__(embedder=embedder, collection_name=collection_name, **data)

    @property
    def _namespace(self) -> StoreNamespace:
        return StoreNamespace("knowledge", self._title, storage=self.store, embedder=self.embedder, file=_FILE)

    @property
    def _title(self) -> str:
        return self.collection_name or "knowledge"

    @overridable
    def save(self, documents: list[str]) -> None:
        """Add texts to the collection.

        Raises:
            StorageError: they cannot be written or embedded.
        """
        drive(self._adding(documents))

    @overridable
    async def asave(self, documents: list[str]) -> None:
        """Async `save`; calls an overridden `save`."""
        if override_of(self, "save") is not None:
            await acall(self.save, documents)
        else:
            await adrive(self._adding(documents))

    def keep(self, units: Mapping[str, Sequence[Passage]]) -> None:
        """Replace the content of units: new passages are embedded, existing ones kept, others deleted.

        Raises:
            StorageError: they cannot be written or embedded.
        """
        drive(self._keeping(units))

    def has(self, units: Iterable[str]) -> bool:
        """Return whether there are passages of each of these units.

        Raises:
            StorageError: the store cannot be read.
        """
        return drive(self._present(units))

    @overridable
    def search(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: Metadata | None = None,
        score_threshold: float = 0.6,
        *,
        units: Collection[str] | None = None,
    ) -> list[SearchResult]:
        """The passages that match a query, best first.

        Args:
            query: the query; several texts form one query.
            limit: the maximum number of results.
            metadata_filter: conditions on the metadata, with LangGraph's operators.
            score_threshold: the minimum score, from 0 to 1.
            units: search only these units; None for the whole collection.

        Raises:
            StorageError: the store cannot be searched.
        """
        return drive(self._searching(" ".join(query), limit, score_threshold, metadata_filter, units))

    @overridable
    async def asearch(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: Metadata | None = None,
        score_threshold: float = 0.6,
        *,
        units: Collection[str] | None = None,
    ) -> list[SearchResult]:
        """Async `search`; calls an overridden `search`."""
        if override := override_of(self, "search"):
            filters: PlainDict = {} if metadata_filter is None else {"metadata_filter": metadata_filter}
            return await acall(override, query, limit=limit, score_threshold=score_threshold, **filters)
        return await adrive(self._searching(" ".join(query), limit, score_threshold, metadata_filter, units))

    def reset(self) -> None:
        """Delete everything in the collection.

        Raises:
            StorageError: the store cannot be written.
        """
        self._namespace.reset()

    async def areset(self) -> None:
        """Async `reset`."""
        await self._namespace.areset()

    def _adding(self, texts: Sequence[str]) -> Program[None]:
        namespace = self._namespace
        existing = {entry.key for entry in (yield from namespace.listing(None, (_SAVED_UNIT,)))}
        entries = _entries(_SAVED_UNIT, [Passage(text) for text in texts])
        yield from namespace.putting([entry for key, entry in entries.items() if key not in existing])

    def _present(self, units: Iterable[str]) -> Program[bool]:
        return {*units} <= {place[0] for place in (yield from self._namespace.places()) if place}

    def _keeping(self, units: Mapping[str, Sequence[Passage]]) -> Program[None]:
        namespace = self._namespace
        with progress(f"Indexing {self._title}", len(units), "sources") as shown:
            for unit, passages in units.items():
                existing = {entry.key: entry for entry in (yield from namespace.listing(None, (unit,)))}
                entries = _entries(unit, passages)
                yield from namespace.putting([entry for key, entry in entries.items() if key not in existing])
                yield from namespace.deleting([entry for key, entry in existing.items() if key not in entries])
                shown.advance()

    def _searching(
        self,
        query: str,
        limit: int,
        score_threshold: float,
        filter: Mapping[str, object] | None,
        units: Collection[str] | None,
    ) -> Program[list[SearchResult]]:
        # Other programs may use the collection, too: if units are given, read on until enough passages of them are found.
        namespace, results = self._namespace, list[SearchResult]()
        offset, page = 0, limit if units is None else max(limit, _PAGE)
        while query.strip() and len(results) < limit:
            hits: list[FoundEntry] = yield from namespace.searching(query, page, None, filter, (), offset)
            matches = [entry for entry in hits if _entry_score(entry) >= score_threshold]
            results += [_entry_result(entry) for entry in matches if units is None or entry.below[0] in units]
            if len(matches) < page:
                break
            offset, page = offset + page, page * _GROWTH
        return results[:limit]


def _entries(unit: str, passages: Sequence[Passage]) -> dict[str, Entry]:
    """Passages as entries, with keys derived from their content, so that the same text is stored once."""
    entries: dict[str, Entry] = {}
    for passage in passages:
        metadata = plain(passage.metadata)
        key = digest(passage.text, metadata)
        entries[key] = Entry(key, passage.text, metadata, (unit,))
    return entries


def _entry_score(entry: FoundEntry) -> float:
    """Convert a cosine to the scale of `SearchResult`."""
    return (1 + (entry.score or 0.0)) / 2


def _entry_result(entry: FoundEntry) -> SearchResult:
    return {"id": entry.key, "content": entry.text, "metadata": dict(entry.metadata), "score": _entry_score(entry)}
