"""Where knowledge is kept.

What a place for knowledge can do.

Who makes the storages of knowledge that names none.

The place where knowledge is kept unless another is given: a LangGraph store, by default on FAISS and SQLite.

A collection of passages on a shelf of a LangGraph store.

It needs LangGraph, which takes a while to import: `crewgraph.extras.load` on first use.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from crewgraph.core.digests import digest
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.core.plain import plain
from crewgraph.extras import load
from crewgraph.knowledge.passage import Passage, SearchResult
from crewgraph.own_version import ours, own_version
from crewgraph.storage.store.shelf import Entry, Found, Shelf

__all__ = [
    "BaseKnowledgeStorage",
    "KnowledgeCollection",
    "KnowledgeStorage",
    "KnowledgeStorageFactory",
    "resolve_knowledge_storage",
    "set_knowledge_storage_factory",
]


class BaseKnowledgeStorage(BaseModel, ABC):
    """The base of places for knowledge; subclass it to keep knowledge elsewhere.

    `save`, `search` and `reset` are enough: an event loop calls them in a thread, where there is no `asave`, `asearch` and
    `areset`. A class may have fields, or an `__init__` of its own that only sets attributes.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="allow")

    def __new__(cls, *_args: Any, **_given: Any) -> Self:
        """Make it so that attributes can be set also by an `__init__` that never calls that of its base."""
        made = super().__new__(cls)
        begun: dict[str, Any] = {"extra": dict[str, Any](), "fields_set": set[str](), "private": None}
        for name, value in begun.items():
            object.__setattr__(made, f"__pydantic_{name}__", value)
        return made

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # it is where it is

    @abstractmethod
    def save(self, documents: list[str]) -> None:
        """Keep texts."""

    @abstractmethod
    def search(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: dict[str, Any] | None = None,
        score_threshold: float = 0.6,
    ) -> list[SearchResult]:
        """What is kept that fits a query, the best first."""

    @abstractmethod
    def reset(self) -> None:
        """Forget everything."""

    async def asave(self, documents: list[str]) -> None:
        """Keep texts."""
        await in_thread(self.save, documents)

    async def asearch(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: dict[str, Any] | None = None,
        score_threshold: float = 0.6,
    ) -> list[SearchResult]:
        """What is kept that fits a query; see `search`."""
        return await in_thread(self.search, query, limit, metadata_filter, score_threshold)

    async def areset(self) -> None:
        """Forget everything."""
        await in_thread(self.reset)


KnowledgeStorageFactory = Callable[[Any, str | None], BaseKnowledgeStorage | None]
"""Is given an embedder and the name of a collection; gives their storage, or None for the usual one."""

_set: list[KnowledgeStorageFactory] = []


def set_knowledge_storage_factory(factory: KnowledgeStorageFactory | None) -> None:
    """Let a function make the storage wherever knowledge is made without one, in this process; None for none."""
    _set[:] = [] if factory is None else [factory]


def resolve_knowledge_storage(embedder: Any, collection_name: str | None) -> BaseKnowledgeStorage | None:
    """What that function makes of an embedder and a collection's name; None where there is no such function."""
    return _set[0](embedder, collection_name) if _set else None


class KnowledgeStorage(BaseKnowledgeStorage):
    """A collection of passages in a store; other projects and other collections have others."""

    collection_name: str | None = None
    """What the collection is called."""

    embedder: Any = None
    """What turns texts into vectors; the local embedder where None."""

    store: Any = None
    """A LangGraph store with an index, or the path of a folder or database file; None for `knowledge.db` in the storage
    folder."""

    def __init__(self, embedder: Any = None, collection_name: str | None = None, **given: Any) -> None:
        super(BaseKnowledgeStorage, self).__init__(embedder=embedder, collection_name=collection_name, **given)

    @property
    def _collection(self) -> "KnowledgeCollection":
        made = load("crewgraph.knowledge.storage").KnowledgeCollection
        return made(self.collection_name or "knowledge", self.store, self.embedder)

    @ours
    def save(self, documents: list[str]) -> None:
        """Keep texts, in addition to what is kept already.

        Raises:
            StorageError: they cannot be written, or not be embedded.
        """
        self._collection.add(documents)

    @ours
    async def asave(self, documents: list[str]) -> None:
        """Keep texts; see `save`, of which a class's own is called."""
        if own_version(self, "save") is not None:
            await in_thread(self.save, documents)
        else:
            await self._collection.aadd(documents)

    def keep(self, units: Mapping[str, Sequence[Passage]]) -> None:
        """Let units consist of these passages alone: what is there already stays, what is new is embedded, the rest goes.

        Raises:
            StorageError: they cannot be written, or not be embedded.
        """
        self._collection.keep(units)

    def has(self, units: Iterable[str]) -> bool:
        """Whether there is something of each of these units.

        Raises:
            StorageError: the store cannot be read.
        """
        return self._collection.has(units)

    @ours
    def search(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: dict[str, Any] | None = None,
        score_threshold: float = 0.6,
        *,
        units: Collection[str] | None = None,
    ) -> list[SearchResult]:
        """What fits a query, the best first.

        Args:
            query: what is looked for; several texts are one query.
            limit: at most so many results.
            metadata_filter: what their metadata have to hold, with LangGraph's operators.
            score_threshold: from 0 to 1, how near they are at least.
            units: only what belongs to these; everything in the collection where None.

        Raises:
            StorageError: the store cannot be searched.
        """
        return self._collection.search(" ".join(query), limit, score_threshold, metadata_filter, units)

    @ours
    async def asearch(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: dict[str, Any] | None = None,
        score_threshold: float = 0.6,
        *,
        units: Collection[str] | None = None,
    ) -> list[SearchResult]:
        """What fits a query; see `search`, of which a class's own is called."""
        if own := own_version(self, "search"):
            told: dict[str, Any] = {} if metadata_filter is None else {"metadata_filter": metadata_filter}
            return await in_thread(own, query, limit=limit, score_threshold=score_threshold, **told)
        return await self._collection.asearch(" ".join(query), limit, score_threshold, metadata_filter, units)

    def reset(self) -> None:
        """Forget everything in the collection.

        Raises:
            StorageError: the store cannot be written.
        """
        self._collection.reset()

    async def areset(self) -> None:
        """Forget everything in the collection; see `reset`."""
        await self._collection.areset()


_FILE = "knowledge.db"
_BY_HAND = "saved"
"""The unit of what was saved without one."""

_PAGE = 20
_GROWTH = 4


class KnowledgeCollection:
    """The passages of one collection, in units: what is from one file, or from one source.

    Args:
        name: what it is called.
        store: as `KnowledgeStorage` takes it.
        embedder: as `embedder_of` takes it.
    """

    def __init__(self, name: str, store: Any = None, embedder: Any = None) -> None:
        self._shelf = Shelf("knowledge", name, storage=store, embedder=embedder, file=_FILE)

    def add(self, texts: Sequence[str]) -> None:
        """Keep texts, whatever else is kept."""
        drive(self._adding(texts))

    async def aadd(self, texts: Sequence[str]) -> None:
        """Keep texts, whatever else is kept."""
        await adrive(self._adding(texts))

    def keep(self, units: Mapping[str, Sequence[Passage]]) -> None:
        """Let units consist of these passages alone."""
        drive(self._keeping(units))

    def has(self, units: Iterable[str]) -> bool:
        """Whether there is something of each of these."""
        return drive(self._present(units))

    def search(
        self,
        query: str,
        limit: int,
        score_threshold: float,
        filter: Mapping[str, Any] | None = None,
        units: Collection[str] | None = None,
    ) -> list[SearchResult]:
        """What fits a query, of some units or of all."""
        return drive(self._searching(query, limit, score_threshold, filter, units))

    async def asearch(
        self,
        query: str,
        limit: int,
        score_threshold: float,
        filter: Mapping[str, Any] | None = None,
        units: Collection[str] | None = None,
    ) -> list[SearchResult]:
        """What fits a query, of some units or of all."""
        return await adrive(self._searching(query, limit, score_threshold, filter, units))

    def reset(self) -> None:
        """Forget everything."""
        self._shelf.reset()

    async def areset(self) -> None:
        """Forget everything."""
        await self._shelf.areset()

    def _adding(self, texts: Sequence[str]) -> Program[None]:
        there = {entry.key for entry in (yield from self._shelf.listing(None, (_BY_HAND,)))}
        entries = _entries(_BY_HAND, [Passage(text) for text in texts])
        yield from self._shelf.putting([entry for key, entry in entries.items() if key not in there])

    def _present(self, units: Iterable[str]) -> Program[bool]:
        return {*units} <= {place[0] for place in (yield from self._shelf.places()) if place}

    def _keeping(self, units: Mapping[str, Sequence[Passage]]) -> Program[None]:
        for unit, passages in units.items():
            there = {entry.key: entry for entry in (yield from self._shelf.listing(None, (unit,)))}
            wanted = _entries(unit, passages)
            yield from self._shelf.putting([entry for key, entry in wanted.items() if key not in there])
            yield from self._shelf.deleting([entry for key, entry in there.items() if key not in wanted])

    def _searching(
        self,
        query: str,
        limit: int,
        score_threshold: float,
        filter: Mapping[str, Any] | None,
        units: Collection[str] | None,
    ) -> Program[list[SearchResult]]:
        # Others may keep something in the collection, too: whoever names units reads on until there is enough of these.
        found: list[SearchResult] = []
        offset, page = 0, limit if units is None else max(limit, _PAGE)
        while query.strip() and len(found) < limit:
            read: list[Found] = yield from self._shelf.searching(query, page, None, filter, (), offset)
            near = [one for one in read if _score(one) >= score_threshold]
            found += [_result(one) for one in near if units is None or one.below[0] in units]
            if len(near) < page:
                break
            offset, page = offset + page, page * _GROWTH
        return found[:limit]


def _entries(unit: str, passages: Sequence[Passage]) -> dict[str, Entry]:
    """Passages as entries, by keys that say what is in them: the same text is kept once."""
    entries: dict[str, Entry] = {}
    for one in passages:
        metadata = plain(one.metadata)
        key = digest(one.text, metadata)
        entries[key] = Entry(key, one.text, metadata, (unit,))
    return entries


def _score(found: Found) -> float:
    """From the cosine to the scale of `SearchResult`."""
    return (1 + (found.score or 0.0)) / 2


def _result(found: Found) -> SearchResult:
    return {"id": found.key, "content": found.text, "metadata": dict(found.metadata), "score": _score(found)}
