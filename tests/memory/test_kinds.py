"""The four kinds of memory: calls of their storages, results and events."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from crewgraph.errors import StorageError
from crewgraph.events import BaseEvent
from crewgraph.memory.items import EntityMemoryItem, LongTermMemoryItem
from crewgraph.memory.kinds import EntityMemory, ExternalMemory, LongTermMemory, ShortTermMemory, StoredMemory
from crewgraph.memory.storage import LTMSQLiteStorage, RAGStorage, Storage
from crewgraph.testing import record_events


class Noted(Storage):
    """A storage of a user's own that notes what it is called with."""

    def __init__(self, *found: Any) -> None:
        self.calls: list[Any] = []
        self.found = list(found)

    def save(self, value: Any, metadata: dict[str, Any]) -> None:
        self.calls.append(("save", value, metadata))

    def search(self, query: str, limit: int, score_threshold: float) -> list[Any]:
        self.calls.append(("search", query, limit, score_threshold))
        return self.found

    def reset(self) -> None:
        self.calls.append("reset")


class Full(Storage):
    """A storage that takes and gives nothing."""

    def save(self, value: Any, metadata: dict[str, Any]) -> None:
        raise OSError("the disk is full")

    def search(self, query: str, limit: int, score_threshold: float) -> list[Any]:
        raise OSError("the disk is gone")


class Async(Noted):
    """The same, on an event loop."""

    async def save(self, value: Any, metadata: dict[str, Any]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        await asyncio.sleep(0)
        super().save(value, metadata)


KINDS = [ShortTermMemory, ExternalMemory]


def describe(events: list[BaseEvent]) -> list[tuple[Any, ...]]:
    return [(event.type, event.source_type) for event in events]


@pytest.mark.parametrize("kind", KINDS)
def test_a_custom_storage_is_called_as_crewai_calls_it(kind: type[StoredMemory]):
    storage = Noted({"content": "tea"})
    memory = kind(storage=storage)
    memory.save("v")
    memory.save("w", {"a": 1})
    memory.save(value="x", metadata={"b": 2})
    assert memory.search("q") == [{"content": "tea"}]
    memory.search("q", 3, 0.1)
    memory.search(query="q", limit=4, score_threshold=0.7)
    memory.reset()
    assert storage.calls == [
        ("save", "v", {}), ("save", "w", {"a": 1}), ("save", "x", {"b": 2}), ("search", "q", 5, 0.6),
        ("search", "q", 3, 0.1), ("search", "q", 4, 0.7), "reset",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_verbs_for_event_loops_do_the_same(kind: type[StoredMemory]):
    storage = Async("tea")
    memory = kind(storage=storage)

    async def used() -> Any:
        await memory.asave("v", {"a": 1})
        matches = await memory.asearch("q", 2, 0.5)
        await memory.areset()
        return matches

    assert asyncio.run(used()) == ["tea"]
    assert storage.calls == [("save", "v", {"a": 1}), ("search", "q", 2, 0.5), "reset"]


def test_an_entity_that_cannot_be_kept_does_not_keep_the_others_away():
    class Picky(Noted):
        def save(self, value: Any, metadata: dict[str, Any]) -> None:
            if value.startswith("Bonn"):
                raise OSError("no towns")
            super().save(value, metadata)

    storage = Picky()
    items = [EntityMemoryItem(name, "t", "d", "") for name in ("Bonn", "Ada")]
    with (
        record_events() as events,
        pytest.raises(StorageError, match="1 of 2 entities could not be saved: Bonn: no towns"),
    ):
        EntityMemory(storage=storage).save(items)
    assert storage.calls == [("save", "Ada(t): d", {"relationships": ""})]
    assert describe(events) == [("memory_save_started", "entity_memory"), ("memory_save_failed", "entity_memory")]


def test_what_a_storage_raises_is_reported_and_raised():
    memory = ExternalMemory(storage=Full())
    with record_events() as events:
        with pytest.raises(OSError, match="full"):
            memory.save({"not": "a text"})
        with pytest.raises(OSError, match="gone"):
            memory.search("q")
        with pytest.raises(NotImplementedError, match=r"`Full` does not implement `reset\(\)`"):
            memory.reset()
    assert describe(events)[1::2] == [
        ("memory_save_failed", "external_memory"),
        ("memory_query_failed", "external_memory"),
    ]
    assert events[1].error == "the disk is full"  # pyright: ignore[reportAttributeAccessIssue]


def test_what_is_near_is_found_with_its_score_and_metadata(storage: Path):
    stored = RAGStorage(type="short_term")
    stored.save("the harbour of Bonn has three boats", {"agent": "Clerk"})
    stored.save("bread is baked at night", {"agent": "Baker"})
    (match,) = stored.search("boats in the harbour", limit=1)
    assert match["content"] == "the harbour of Bonn has three boats"
    assert match["metadata"] == {"agent": "Clerk"}
    assert 0.6 <= match["score"] <= 1
    assert stored.search("boats in the harbour", filter={"agent": "Baker"}, score_threshold=0)[0]["content"].startswith(
        "bread"
    )
    assert stored.search("boats", score_threshold=1.0) == []
    assert stored.search("boats", limit=0) == stored.search("  ") == []


def test_kinds_crews_and_projects_do_not_see_each_others_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from .parts import crew_of

    first, second = crew_of("Clerk"), crew_of("Clerk", "Baker")
    shelves = [
        RAGStorage(type="short_term"), RAGStorage(type="short"), RAGStorage(type="short_term", crew=first),
        RAGStorage(type="short_term", crew=second),
    ]  # fmt: skip
    for number, shelf in enumerate(shelves):
        shelf.save(f"boats {number}")
    assert [[record["content"] for record in shelf.search("boats", score_threshold=0)] for shelf in shelves] == [
        ["boats 0"], ["boats 1"], ["boats 2"], ["boats 3"],
    ]  # fmt: skip
    shelves[2].reset()
    assert [len(shelf.search("boats", score_threshold=0)) for shelf in shelves] == [1, 1, 0, 1]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert shelves[0].search("boats", score_threshold=0) == []


@pytest.fixture(params=["file", "default"])
def long_term(request: pytest.FixtureRequest, tmp_path: Path) -> LongTermMemory:
    if request.param == "default":
        return LongTermMemory()
    return LongTermMemory(storage=LTMSQLiteStorage(db_path=str(tmp_path / "deep" / "long.db")))


def item(task: str, at: str, quality: float | None, *suggestions: str) -> LongTermMemoryItem:
    return LongTermMemoryItem(
        agent="Clerk",
        task=task,
        expected_output="e",
        datetime=at,
        quality=quality,
        metadata={"suggestions": [*suggestions]},
    )


def test_how_a_task_was_done_is_found_by_its_description_the_latest_first(long_term: LongTermMemory):
    long_term.save(item("look", "1700000001.5", 5, "closer"))
    long_term.save(item("look", "1700000003.5", 7))
    long_term.save(item("look", "1700000002.5", None))
    long_term.save(item("look away", "1700000009.5", 9))
    recorded = {"agent": "Clerk", "expected_output": "e"}
    assert long_term.search("look", latest_n=2) == [
        {"metadata": {"suggestions": [], "quality": 7, **recorded}, "datetime": "1700000003.5", "score": 7},
        {"metadata": {"suggestions": [], "quality": None, **recorded}, "datetime": "1700000002.5", "score": None},
    ]
    assert long_term.search("look", 3)[2]["metadata"]["suggestions"] == ["closer"]
    assert long_term.search("nothing") == []
    long_term.reset()
    assert long_term.search("look") == []


def test_an_sqlite_file_is_read_by_anybody(tmp_path: Path):
    path = tmp_path / "long.db"
    LTMSQLiteStorage(db_path=str(path)).save("look", {"suggestions": ["x"]}, "1.5", 5)
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT task_description, metadata, datetime, score FROM long_term_memories").fetchall()
    database.close()
    assert rows == [("look", '{"suggestions": ["x"]}', "1.5", 5.0)]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_memory_of_a_users_own_may_say_itself_who_remembers():
    class Clerks(ShortTermMemory):
        @property
        def agent(self) -> Any:
            return "the clerk"

        @agent.setter
        def agent(self, agent: object) -> None:
            given.append(agent)

    given: list[object] = []
    memory = Clerks(storage=Noted())
    memory.agent, memory.task = "Ada", "count"
    assert (memory.agent, memory.task, given) == ("the clerk", "count", ["Ada"])
