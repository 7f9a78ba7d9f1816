"""Records in a LangGraph store, which embeds and searches them; scopes are its namespaces."""

from collections.abc import Iterable, Sequence

from crewgraph.core.operations import Program
from crewgraph.memory.query import RecordFilter
from crewgraph.memory.records import MemoryRecord, scope_parts
from crewgraph.storage.store.namespace import Entry, FoundEntry, StoreNamespace

__all__ = ["StoreRecords"]


_MIN_PAGE = 64
_OVERSAMPLING = 4


class StoreRecords:
    """The records of a memory in a namespace of a store."""

    def __init__(self, shelf: StoreNamespace) -> None:
        self.namespace = shelf

    def saving(self, records: Sequence[MemoryRecord]) -> Program[None]:
        """Save new records."""
        yield from self.namespace.putting([_entry(record) for record in records])

    def replacing(self, records: Sequence[MemoryRecord]) -> Program[None]:
        """Save changed records; see `moved`."""
        yield from self.saving(records)

    def moved(self, before: MemoryRecord) -> Program[None]:
        """Delete a record from its former scope."""
        yield from self.deleting([before])

    def getting(self, places: Sequence[tuple[str, str]]) -> Program[list[MemoryRecord | None]]:
        """The records of some (scope, id) pairs; None for those that do not exist."""
        records: list[MemoryRecord | None] = []
        for scope, record_id in places:
            entries = yield from self.namespace.getting([record_id], scope_parts(scope))
            records += [None if entry is None else _record(entry) for entry in entries]
        return records

    def searching(
        self, query: str, record_filter: RecordFilter, limit: int
    ) -> Program[list[tuple[MemoryRecord, float]]]:
        """The nearest records with their similarity, 0 to 1, nearest first."""
        matches: list[tuple[MemoryRecord, float]] = []
        page_size, offset = max(limit * _OVERSAMPLING, _MIN_PAGE) if record_filter.narrow else limit, 0
        while limit > 0:
            page = yield from self.namespace.searching(
                query, page_size, below=scope_parts(record_filter.scope), offset=offset
            )
            hits = [(_record(entry), _similarity(entry.score)) for entry in page]
            matches += [(record, score) for record, score in hits if record in record_filter]
            if len(page) < page_size or len(matches) >= limit:
                break
            offset, page_size = offset + page_size, page_size * _OVERSAMPLING
        return matches[:limit]

    def listing(self, record_filter: RecordFilter) -> Program[list[MemoryRecord]]:
        """All records that match, newest first."""
        entries: Iterable[FoundEntry]
        if record_filter.record_ids is not None and len(record_filter.record_ids) == 1:
            entries = yield from self.namespace.listing(
                {"id": record_filter.record_ids[0]}, scope_parts(record_filter.scope)
            )
        else:
            entries = yield from self.namespace.listing(None, scope_parts(record_filter.scope))
        records = [record for record in map(_record, entries) if record in record_filter]
        return sorted(records, key=lambda record: record.created_at, reverse=True)

    def sampling(self, scope: str, limit: int) -> Program[list[MemoryRecord]]:
        """Some records of a scope, where reading all would take too long."""
        return [_record(entry) for entry in (yield from self.namespace.sampling(limit, scope_parts(scope)))]

    def deleting(self, records: Sequence[MemoryRecord]) -> Program[int]:
        """Delete records."""
        return (
            yield from self.namespace.deleting(
                [Entry(record.id, "", below=scope_parts(record.scope)) for record in records]
            )
        )

    def scopes(self, scope: str) -> Program[list[str]]:
        """The paths, at or below a scope, that hold records."""
        places = yield from self.namespace.places(scope_parts(scope))
        return sorted("/" + "/".join(parts) for parts in places)

    def touching(self, records: Sequence[MemoryRecord]) -> Program[None]:
        """Handle that records were recalled: nothing is written."""
        yield from ()


def _entry(record: MemoryRecord) -> Entry:
    metadata = record.model_dump(mode="json", exclude={"content", "scope"})
    return Entry(record.id, record.content, metadata, scope_parts(record.scope))


def _record(entry: FoundEntry) -> MemoryRecord:
    fields: dict[str, object] = {"id": entry.key, **entry.metadata}
    if "created_at" not in fields:  # another program put it there
        fields["created_at"], fields["last_accessed"] = entry.created_at, entry.updated_at
    return MemoryRecord.model_validate({**fields, "content": entry.text, "scope": "/" + "/".join(entry.below)})


def _similarity(cosine: float | None) -> float:
    """Convert a cosine: 1 for identical vectors, 1/3 for unrelated ones."""
    return 1 / (3 - 2 * min(max(cosine or 0.0, -1.0), 1.0))
