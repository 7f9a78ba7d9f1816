"""Custom storages of a memory."""

from datetime import datetime
from typing import Any

import pytest
from modes import Mode

from crewgraph import Memory
from crewgraph.errors import StorageError
from crewgraph.memory.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewgraph.memory.records import MemoryRecord, ScopeInfo

from .unified_parts import words


class Notebook:
    """A storage on a list, which takes prefixes of scopes for texts."""

    def __init__(self) -> None:
        self.records: dict[str, MemoryRecord] = {}
        self.called: list[str] = []

    def save(self, records: list[MemoryRecord]) -> None:
        self.called.append("save")
        assert all(record.embedding for record in records)
        assert not self.records.keys() & {record.id for record in records}
        self.records |= {record.id: record for record in records}

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        self.called.append("search")
        matches = [
            (record, sum(a * b for a, b in zip(query_embedding, record.embedding or [], strict=True)))
            for record in self.list_records(scope_prefix)
        ]
        return sorted(matches, key=lambda one: -one[1])[:limit]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        self.called.append("delete")
        return len([self.records.pop(record_id) for record_id in record_ids or []])

    def update(self, record: MemoryRecord) -> None:
        self.called.append("update")
        assert record.embedding
        self.records[record.id] = record

    def get_record(self, record_id: str) -> MemoryRecord | None:
        return self.records.get(record_id)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        matches = [record for record in self.records.values() if record.scope.startswith(scope_prefix or "")]
        return matches[offset : offset + limit]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        raise NotImplementedError

    def list_scopes(self, parent: str = "/") -> list[str]:
        raise NotImplementedError

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        raise NotImplementedError

    def count(self, scope_prefix: str | None = None) -> int:
        raise NotImplementedError

    def reset(self, scope_prefix: str | None = None) -> None:
        raise NotImplementedError


def test_a_storage_keeps_what_is_remembered_with_its_vectors(mode: Mode):
    storage = Notebook()
    assert isinstance(storage, StorageBackend)
    memory = Memory(storage=storage, embedder=words)
    record = mode.run(memory.remember, memory.aremember, "cats like fish", "/a", ["c"])
    assert record is not None and storage.records[record.id].embedding == words(["cats like fish"])[0]
    memory.remember("dogs like bones", scope="/ab")
    assert [match.record.content for match in mode.run(memory.recall, memory.arecall, "fish", "/a")] == [
        "cats like fish"
    ]
    assert memory.list_scopes() == ["/a", "/ab"]
    assert memory.info("/a").record_count == 1
    assert memory.list_categories() == {"c": 1}


def test_records_that_are_there_are_updated_and_not_saved_again(mode: Mode):
    storage = Notebook()
    memory = Memory(storage=storage, embedder=words)
    record = memory.remember("cats like fish", scope="/a")
    assert record is not None
    mode.run(memory.remember, memory.aremember, "cats like fish", "/a", ["more"])
    changed = mode.run(memory.update, memory.aupdate, record.id, "cats eat fish", "/b")
    assert (changed.id, changed.scope) == (record.id, "/b")
    assert [record.scope for record in memory.list_records()] == ["/b"]
    assert [call for call in storage.called if call != "search"] == ["save", "update", "update"]
    assert mode.run(memory.forget, memory.aforget, "/b") == 1
    assert storage.records == {}


def test_it_hears_of_what_was_recalled():
    class Counting(Notebook):
        def touch_records(self, record_ids: list[str]) -> None:
            self.called.append(f"touched {len(record_ids)}")

    storage = Counting()
    memory = Memory(storage=storage, embedder=words)
    memory.remember("cats")
    memory.recall("cats")
    assert storage.called[-1] == "touched 1"


def test_what_it_raises_is_a_storage_error(mode: Mode):
    class Full(Notebook):
        def save(self, records: list[MemoryRecord]) -> None:
            raise EmbeddingDimensionMismatchError(256, 64)

    memory = Memory(storage=Full(), embedder=words)
    with pytest.raises(
        StorageError, match="`save` for the storage `Full` failed: .*stored vectors have 256 dimensions"
    ):
        mode.run(memory.remember, memory.aremember, "cats")
