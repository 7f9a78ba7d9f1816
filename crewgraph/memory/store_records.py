"""Records on a shelf: the store embeds them, and finds them by meaning; scopes are its namespaces."""

from collections.abc import Iterable, Sequence
from typing import Any

from crewgraph.core.operations import Program
from crewgraph.memory.query import Wanted
from crewgraph.memory.records import MemoryRecord, parts_of
from crewgraph.storage.store.shelf import Entry, Found, Shelf

__all__ = ["ShelvedRecords"]


_FIRST_LOOK = 64
_WIDER = 4


class ShelvedRecords:
    """The records of a memory, on a shelf of a store."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    def saving(self, records: Sequence[MemoryRecord]) -> Program[None]:
        """Keep records."""
        yield from self.shelf.putting([_entry(record) for record in records])

    def replacing(self, records: Sequence[MemoryRecord]) -> Program[None]:
        """Write records that were there before; see `moved`."""
        yield from self.saving(records)

    def moved(self, before: MemoryRecord) -> Program[None]:
        """Forget a record where it stood before it was given another scope."""
        yield from self.deleting([before])

    def at(self, places: Sequence[tuple[str, str]]) -> Program[list[MemoryRecord | None]]:
        """The records of some scopes and ids."""
        found: list[MemoryRecord | None] = []
        for scope, record_id in places:
            entries = yield from self.shelf.getting([record_id], parts_of(scope))
            found += [None if one is None else _record(one) for one in entries]
        return found

    def searching(self, query: str, wanted: Wanted, limit: int) -> Program[list[tuple[MemoryRecord, float]]]:
        """The nearest records with their nearness, 0 to 1, the nearest first."""
        found: list[tuple[MemoryRecord, float]] = []
        look, offset = max(limit * _WIDER, _FIRST_LOOK) if wanted.narrow else limit, 0
        while limit > 0:
            page = yield from self.shelf.searching(query, look, below=parts_of(wanted.scope), offset=offset)
            near = [(_record(one), _nearness(one.score)) for one in page]
            found += [(record, score) for record, score in near if record in wanted]
            if len(page) < look or len(found) >= limit:
                break
            offset, look = offset + look, look * _WIDER
        return found[:limit]

    def listing(self, wanted: Wanted) -> Program[list[MemoryRecord]]:
        """All records that are meant, the newest first."""
        entries: Iterable[Found]
        if wanted.record_ids is not None and len(wanted.record_ids) == 1:
            entries = yield from self.shelf.listing({"id": wanted.record_ids[0]}, parts_of(wanted.scope))
        else:
            entries = yield from self.shelf.listing(None, parts_of(wanted.scope))
        found = [record for record in map(_record, entries) if record in wanted]
        return sorted(found, key=lambda record: record.created_at, reverse=True)

    def some(self, scope: str, limit: int) -> Program[list[MemoryRecord]]:
        """Some records of a scope, where looking at all of them would take too long."""
        return [_record(one) for one in (yield from self.shelf.some(limit, parts_of(scope)))]

    def deleting(self, records: Sequence[MemoryRecord]) -> Program[int]:
        """Forget records."""
        return (
            yield from self.shelf.deleting([Entry(record.id, "", below=parts_of(record.scope)) for record in records])
        )

    def scopes(self, scope: str) -> Program[list[str]]:
        """The paths of a scope and of those below it that hold records."""
        places = yield from self.shelf.places(parts_of(scope))
        return sorted("/" + "/".join(parts) for parts in places)

    def touching(self, records: Sequence[MemoryRecord]) -> Program[None]:
        """Note that records were recalled: nothing is written here."""
        yield from ()


def _entry(record: MemoryRecord) -> Entry:
    told = record.model_dump(mode="json", exclude={"content", "scope"})
    return Entry(record.id, record.content, told, parts_of(record.scope))


def _record(found: Found) -> MemoryRecord:
    known: dict[str, Any] = {"id": found.key, **found.metadata}
    if "created_at" not in known:  # somebody else put it there
        known["created_at"], known["last_accessed"] = found.created_at, found.updated_at
    return MemoryRecord.model_validate({**known, "content": found.text, "scope": "/" + "/".join(found.below)})


def _nearness(cosine: float | None) -> float:
    """From the cosine of two vectors: 1 where they are the same, 1/3 where they have nothing in common."""
    return 1 / (3 - 2 * min(max(cosine or 0.0, -1.0), 1.0))
