"""The records of a memory: in a LangGraph store, which embeds and searches them, or in a custom storage, for which it embeds.

Scopes are namespaces of the store.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from crewgraph.core.operations import Do, Program, user_call
from crewgraph.errors import CrewgraphError, StorageError
from crewgraph.memory.records import MemoryRecord, RecordFilter, is_within, normalize_scope_path, scope_parts
from crewgraph.storage.store.namespace import Entry, FoundEntry, StoreNamespace

_MIN_PAGE = 64
_OVERSAMPLING = 4


class StoreRecords:
    """The records of a memory in a namespace of a store."""

    def __init__(self, shelf: StoreNamespace) -> None:
        self.namespace = shelf

    def preparing(self, texts: list[str]) -> Program[None]:
        """Embed the texts of a save together, for the searches before it and for the records."""
        yield from self.namespace.preparing(texts)

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
            records += [None if entry is None else _stored_record(entry) for entry in entries]
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
            hits = [(_stored_record(entry), _nearness(entry.score)) for entry in page]
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
        records = [record for record in map(_stored_record, entries) if record in record_filter]
        return sorted(records, key=lambda record: record.created_at, reverse=True)

    def sampling(self, scope: str, limit: int) -> Program[list[MemoryRecord]]:
        """Some records of a scope, where reading all would take too long."""
        return [_stored_record(entry) for entry in (yield from self.namespace.listing(None, scope_parts(scope), limit))]

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


def _stored_record(entry: FoundEntry) -> MemoryRecord:
    fields: dict[str, object] = {"id": entry.key, **entry.metadata}
    if "created_at" not in fields:  # another program put it there
        fields["created_at"], fields["last_accessed"] = entry.created_at, entry.updated_at
    return MemoryRecord.model_validate({**fields, "content": entry.text, "scope": "/" + "/".join(entry.below)})


def _nearness(cosine: float | None) -> float:
    """Convert a cosine: 1 for identical vectors, 1/3 for unrelated ones."""
    return 1 / (3 - 2 * min(max(cosine or 0.0, -1.0), 1.0))


_ALL = 1 << 30


class BackendRecords:
    """The records of a memory in a `StorageBackend`."""

    def __init__(self, backend: Any, embedder: Callable[[], Any]) -> None:
        """Wrap a storage.

        Args:
            backend: a `StorageBackend`.
            embedder: returns the embedder, called on first use.
        """
        self.backend, self._embedder = backend, embedder

    def preparing(self, texts: list[str]) -> Program[None]:
        """Embed the texts of a save together, for the searches before it and for the records."""
        if self._embedder().keeps(texts):
            yield from self._embed("embed_documents", texts)

    def saving(self, records: Sequence[MemoryRecord]) -> Program[None]:
        """Embed and save new records."""
        if records:
            yield from self._call_backend("save", (yield from self._with_embeddings(records)))

    def replacing(self, records: Sequence[MemoryRecord]) -> Program[None]:
        """Embed and save changed records."""
        if records:
            for record in (yield from self._with_embeddings(records)):
                yield from self._call_backend("update", record)

    def moved(self, before: MemoryRecord) -> Program[None]:
        """Clean up after a record's scope changed: nothing to do, as its id is the same."""
        yield from ()

    def getting(self, places: Sequence[tuple[str, str]]) -> Program[list[MemoryRecord | None]]:
        """The records of some (scope, id) pairs; None for those that do not exist."""
        records: list[MemoryRecord | None] = []
        for _, record_id in places:
            records.append((yield from self._call_backend("get_record", record_id)))
        return records

    def searching(
        self, query: str, record_filter: RecordFilter, limit: int
    ) -> Program[list[tuple[MemoryRecord, float]]]:
        """The nearest records with their similarity, nearest first."""
        if limit < 1:
            return []
        vector = yield from self._embed("embed_query", query)
        oversampled = limit * _OVERSAMPLING if record_filter.narrow else limit
        arguments = {
            "scope_prefix": _prefix(record_filter.scope),
            "categories": list(record_filter.categories) if record_filter.categories else None,
            "metadata_filter": dict(record_filter.metadata) if record_filter.metadata else None,
            "limit": oversampled,
            "min_score": 0.0,
        }
        hits = yield from self._call_backend("search", vector, **arguments)
        return [
            (record, float(score))
            for record, score in hits
            if record in record_filter and is_within(record.scope, record_filter.scope)
        ][:limit]

    def listing(self, record_filter: RecordFilter) -> Program[list[MemoryRecord]]:
        """All records that match, in the storage's order."""
        if record_filter.record_ids is not None:
            optional_records = yield from self.getting([("", record_id) for record_id in record_filter.record_ids])
            records = [record for record in optional_records if record is not None]
        else:
            records = yield from self._call_backend(
                "list_records", scope_prefix=_prefix(record_filter.scope), limit=_ALL, offset=0
            )
        return [
            record for record in records if record in record_filter and is_within(record.scope, record_filter.scope)
        ]

    def sampling(self, scope: str, limit: int) -> Program[list[MemoryRecord]]:
        """Some records of a scope, where reading all would take too long."""
        records = yield from self._call_backend("list_records", scope_prefix=_prefix(scope), limit=limit, offset=0)
        return [record for record in records if is_within(record.scope, scope)]

    def deleting(self, records: Sequence[MemoryRecord]) -> Program[int]:
        """Delete records and return their number."""
        if not records:
            return 0
        count = yield from self._call_backend("delete", record_ids=[record.id for record in records])
        return count if isinstance(count, int) else len(records)

    def scopes(self, scope: str) -> Program[list[str]]:
        """The paths, at or below a scope, that hold records."""
        listed = yield from self.listing(RecordFilter(scope=scope))
        return sorted({normalize_scope_path(record.scope) for record in listed})

    def touching(self, records: Sequence[MemoryRecord]) -> Program[None]:
        """Notify a storage with `touch_records` that records were recalled."""
        if callable(getattr(self.backend, "touch_records", None)) and records:
            yield from self._call_backend("touch_records", [record.id for record in records])

    def _with_embeddings(self, records: Sequence[MemoryRecord]) -> Program[list[MemoryRecord]]:
        vectors = yield from self._embed("embed_documents", [record.content for record in records])
        return [
            record.model_copy(update={"embedding": vector}) for record, vector in zip(records, vectors, strict=True)
        ]

    def _embed(self, method: str, texts: Any) -> Program[Any]:
        embeddings = self._embedder().embeddings
        twin = getattr(embeddings, f"a{method}")
        return (yield from self._guarded(user_call(getattr(embeddings, method), texts, twin=twin), "embed"))

    def _call_backend(self, method: str, *args: Any, **kwargs: object) -> Program[Any]:
        function: Callable[..., object] = getattr(self.backend, method)
        twin = getattr(self.backend, f"a{method}", None)
        operation = user_call(lambda: function(*args, **kwargs), twin=twin and (lambda: twin(*args, **kwargs)))
        return (yield from self._guarded(operation, method))

    def _guarded(self, operation: Do, action: str) -> Program[Any]:
        try:
            return (yield operation)
        except CrewgraphError:
            raise
        except Exception as error:  # any error of the user's storage
            name = type(self.backend).__name__
            raise StorageError(
                f"`{action}` for the storage `{name}` failed: {type(error).__name__}: {error}"
            ) from error


def _prefix(scope: str) -> str | None:
    return None if scope == "/" else scope
