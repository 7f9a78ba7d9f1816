"""Records in a storage of somebody's own: the memory embeds, and calls through."""

from collections.abc import Callable, Sequence
from typing import Any

from crewgraph.core.operations import Program
from crewgraph.errors import CrewgraphError, StorageError
from crewgraph.memory.analyze import Called
from crewgraph.memory.query import Wanted
from crewgraph.memory.records import MemoryRecord, normalize_scope_path, parts_of

__all__ = ["ForeignRecords"]


_ALL = 1 << 30
_WIDER = 4


class ForeignRecords:
    """The records of a memory, in a storage of somebody's own."""

    def __init__(self, backend: Any, embedder: Callable[[], Any]) -> None:
        """Take a storage.

        Args:
            backend: a `StorageBackend`.
            embedder: gives what embeds, when it is first needed.
        """
        self.backend, self._embedder = backend, embedder

    def saving(self, records: Sequence[MemoryRecord]) -> Program[None]:
        """Embed and keep records."""
        if records:
            yield from self._called("save", (yield from self._whole(records)))

    def replacing(self, records: Sequence[MemoryRecord]) -> Program[None]:
        """Embed and write records that were there before."""
        if records:
            for record in (yield from self._whole(records)):
                yield from self._called("update", record)

    def moved(self, before: MemoryRecord) -> Program[None]:
        """A record was given another scope: it has still its id."""
        yield from ()

    def at(self, places: Sequence[tuple[str, str]]) -> Program[list[MemoryRecord | None]]:
        """The records of some ids."""
        found: list[MemoryRecord | None] = []
        for _, record_id in places:
            found.append((yield from self._called("get_record", record_id)))
        return found

    def searching(self, query: str, wanted: Wanted, limit: int) -> Program[list[tuple[MemoryRecord, float]]]:
        """The nearest records with their nearness, the nearest first."""
        if limit < 1:
            return []
        vector = yield from self._embedded("embed_query", query)
        look = limit * _WIDER if wanted.narrow else limit
        arguments = {
            "scope_prefix": _prefix(wanted.scope),
            "categories": list(wanted.categories) if wanted.categories else None,
            "metadata_filter": dict(wanted.metadata) if wanted.metadata else None,
            "limit": look,
            "min_score": 0.0,
        }
        found = yield from self._called("search", vector, **arguments)
        return [(one, float(score)) for one, score in found if one in wanted and _within(one, wanted.scope)][:limit]

    def listing(self, wanted: Wanted) -> Program[list[MemoryRecord]]:
        """All records that are meant, as the storage orders them."""
        if wanted.record_ids is not None:
            found = yield from self.at([("", record_id) for record_id in wanted.record_ids])
            listed = [one for one in found if one is not None]
        else:
            listed = yield from self._called("list_records", scope_prefix=_prefix(wanted.scope), limit=_ALL, offset=0)
        return [one for one in listed if one in wanted and _within(one, wanted.scope)]

    def some(self, scope: str, limit: int) -> Program[list[MemoryRecord]]:
        """Some records of a scope, where looking at all of them would take too long."""
        found = yield from self._called("list_records", scope_prefix=_prefix(scope), limit=limit, offset=0)
        return [one for one in found if _within(one, scope)]

    def deleting(self, records: Sequence[MemoryRecord]) -> Program[int]:
        """Forget records."""
        if not records:
            return 0
        told = yield from self._called("delete", record_ids=[record.id for record in records])
        return told if isinstance(told, int) else len(records)

    def scopes(self, scope: str) -> Program[list[str]]:
        """The paths of a scope and of those below it that hold records."""
        listed = yield from self.listing(Wanted(scope=scope))
        return sorted({normalize_scope_path(record.scope) for record in listed})

    def touching(self, records: Sequence[MemoryRecord]) -> Program[None]:
        """Tell a storage that wants to know it that records were recalled."""
        if callable(getattr(self.backend, "touch_records", None)) and records:
            yield from self._called("touch_records", [record.id for record in records])

    def _whole(self, records: Sequence[MemoryRecord]) -> Program[list[MemoryRecord]]:
        vectors = yield from self._embedded("embed_documents", [record.content for record in records])
        return [
            record.model_copy(update={"embedding": vector}) for record, vector in zip(records, vectors, strict=True)
        ]

    def _embedded(self, method: str, texts: Any) -> Program[Any]:
        embeddings = self._embedder().embeddings
        twin = getattr(embeddings, f"a{method}")
        return (yield from self._safely(Called(getattr(embeddings, method), texts, twin=twin), "embed"))

    def _called(self, method: str, *given: Any, **words: Any) -> Program[Any]:
        function: Callable[..., Any] = getattr(self.backend, method)
        twin: Callable[..., Any] | None = getattr(self.backend, f"a{method}", None)
        operation = Called(lambda: function(*given, **words), twin=twin and (lambda: twin(*given, **words)))
        return (yield from self._safely(operation, method))

    def _safely(self, operation: Called, what: str) -> Program[Any]:
        try:
            return (yield operation)
        except CrewgraphError:
            raise
        except Exception as error:
            name = type(self.backend).__name__
            raise StorageError(f"`{what}` for the storage `{name}` failed: {type(error).__name__}: {error}") from error


def _prefix(scope: str) -> str | None:
    return None if scope == "/" else scope


def _within(record: MemoryRecord, scope: str) -> bool:
    """Whether a record is in a scope: prefixes of texts, which storages may take them for, are not enough."""
    parts = parts_of(scope)
    return parts_of(record.scope)[: len(parts)] == parts
