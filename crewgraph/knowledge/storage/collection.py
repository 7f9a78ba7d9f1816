"""A collection of passages on a shelf of a LangGraph store.

It needs LangGraph, which takes a while to import: `crewgraph.extras.load` on first use.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from crewgraph.core.digests import digest
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.core.plain import plain
from crewgraph.knowledge.passage import Passage, SearchResult
from crewgraph.storage.store.shelf import Entry, Found, Shelf

__all__ = ["KnowledgeCollection"]

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
