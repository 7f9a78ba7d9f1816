"""Records in a custom storage: the memory embeds and delegates.

`embed_text` and `embed_texts` are for storages that embed texts themselves.
"""

from collections.abc import Callable, Sequence
from typing import Any

from crewgraph.core.operations import Do, Program, user_call
from crewgraph.errors import CrewgraphError, StorageError
from crewgraph.memory.query import RecordFilter
from crewgraph.memory.records import MemoryRecord, normalize_scope_path, scope_parts
from crewgraph.storage.vectors.resolve import embedder_of

__all__ = ["BackendRecords", "embed_text", "embed_texts"]


_ALL = 1 << 30
_OVERSAMPLING = 4


class BackendRecords:
    """The records of a memory in a `StorageBackend`."""

    def __init__(self, backend: Any, embedder: Callable[[], Any]) -> None:
        """Wrap a storage.

        Args:
            backend: a `StorageBackend`.
            embedder: returns the embedder, called on first use.
        """
        self.backend, self._embedder = backend, embedder

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
            if record in record_filter and _within(record, record_filter.scope)
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
        return [record for record in records if record in record_filter and _within(record, record_filter.scope)]

    def sampling(self, scope: str, limit: int) -> Program[list[MemoryRecord]]:
        """Some records of a scope, where reading all would take too long."""
        records = yield from self._call_backend("list_records", scope_prefix=_prefix(scope), limit=limit, offset=0)
        return [record for record in records if _within(record, scope)]

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


def _within(record: MemoryRecord, scope: str) -> bool:
    """Return whether a record is in a scope; storages may match prefixes of text instead."""
    parts = scope_parts(scope)
    return scope_parts(record.scope)[: len(parts)] == parts


def embed_text(embedder: object, text: str) -> list[float]:
    """Embed a text; an empty vector for a blank text.

    Args:
        embedder: as a memory accepts it.
        text: the text.
    """
    return embed_texts(embedder, [text])[0]


def embed_texts(embedder: object, texts: list[str]) -> list[list[float]]:
    """Embed texts with one request; an empty vector for each blank text."""
    non_blank = [text for text in texts if text.strip()]
    vectors = iter(embedder_of(embedder).embeddings.embed_documents(non_blank) if non_blank else ())
    return [list(next(vectors)) if text.strip() else [] for text in texts]
