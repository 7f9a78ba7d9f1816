"""The unified memory: remember, recall and forget."""

import asyncio
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from modes import Mode
from pydantic import ValidationError

from crewgraph import Memory
from crewgraph.errors import RunError, StorageError
from crewgraph.memory import MemoryConfig, MemoryMatch, MemoryRecord, MemoryScope, MemorySlice, compute_composite_score
from crewgraph.testing import record_events

from .unified_parts import words


@pytest.fixture
def memory() -> Memory:
    return Memory(embedder=words)


def contents(found: list[MemoryMatch]) -> list[str]:
    return [match.record.content for match in found]


# ------------------------------------------------------------------------------------------------- remembering
def test_what_is_remembered_is_recalled(memory: Memory, mode: Mode):
    record = mode.run(memory.remember, memory.aremember, "The ferry leaves at nine")
    assert record is not None and record.scope == "/" and record.importance == 0.5
    mode.run(memory.remember, memory.aremember, "Mussels grow on the pier")
    matches = mode.run(memory.recall, memory.arecall, "When does the ferry leave?")
    assert contents(matches) == ["The ferry leaves at nine", "Mussels grow on the pier"]
    assert matches[0].record == record
    assert matches[0].match_reasons == ["semantic", "recency"]


def test_what_is_said_of_it_is_kept(memory: Memory):
    options: dict[str, Any] = {
        "scope": "ports/brest",
        "categories": ["sea"],
        "metadata": {"depth": 12, "of": ["pier", "basin"]},
        "importance": 0.9,
        "source": "Ines",
    }
    memory.remember("The basin is twelve metres deep", **options)
    record = memory.list_records()[0]
    assert record.model_dump(include=set(options)) == {**options, "scope": "/ports/brest"}
    assert record.created_at.tzinfo is None
    assert memory.recall("basin")[0].match_reasons == ["semantic", "recency", "importance"]


def test_memories_of_a_project_share_their_records(memory: Memory):
    memory.remember("The ferry leaves at nine")
    assert contents(Memory(embedder=words).recall("ferry")) == ["The ferry leaves at nine"]


def test_projects_do_not_see_each_other(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    memory.remember("The ferry leaves at nine")
    monkeypatch.chdir(tmp_path)
    assert memory.recall("ferry") == []


def test_a_memory_at_a_path_is_the_same_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    Memory(storage=tmp_path / "kept").remember("The ferry leaves at nine")
    assert (tmp_path / "kept" / "memory.db").is_file()
    monkeypatch.chdir(tmp_path)
    assert contents(Memory(storage="kept").recall("ferry")) == ["The ferry leaves at nine"]
    assert contents(Memory(storage="kept/memory.db").recall("ferry")) == ["The ferry leaves at nine"]


def test_a_langgraph_store_keeps_it():
    store = InMemoryStore(index={"dims": 64, "embed": words, "fields": ["text"]})  # pyright: ignore[reportArgumentType]
    Memory(storage=store).remember("The ferry leaves at nine", scope="/a.b", metadata={"text": "x"})
    memory = Memory(storage=store)
    assert memory.recall("ferry")[0].record.metadata == {"text": "x"}
    assert memory.list_scopes() == ["/a.b"]


def test_a_store_that_does_not_search_by_meaning_is_refused():
    memory = Memory(storage=InMemoryStore())
    memory.remember("The ferry leaves at nine")
    with pytest.raises(StorageError, match="`InMemoryStore` does not support semantic search"):
        memory.recall("ferry")


def test_the_same_words_are_one_record(memory: Memory, mode: Mode):
    first = mode.run(memory.remember, memory.aremember, "The ferry leaves at nine")
    again = memory.remember("the  ferry leaves\nat nine", categories=["sea"], importance=0.8, metadata={"k": 1})
    assert first is not None and again is not None
    assert again.id == first.id and again.created_at == first.created_at
    assert (again.importance, again.categories, again.metadata) == (0.8, ["sea"], {"k": 1})
    assert memory.list_records() == [again]


def test_the_same_words_elsewhere_or_of_somebody_else_are_another_record(memory: Memory):
    memory.remember("nine", scope="/a")
    memory.remember("nine", scope="/b")
    memory.remember("nine", scope="/a", source="Ines")
    memory.remember("nine", scope="/a", source="Ines", private=True)
    assert memory.info().record_count == 4


def test_nearly_the_same_words_are_two_records_where_no_model_says_otherwise(memory: Memory):
    memory.remember_many(["The door code is 1234", "The door code is 1235"])
    assert memory.info().record_count == 2


def test_several_things_are_kept_when_it_returns(memory: Memory, mode: Mode):
    records = mode.run(memory.remember_many, memory.aremember_many, ["one", "two", "One"])
    assert [record.content for record in records] == ["One", "two", "One"]
    assert records[0] == records[2]
    assert memory.info().record_count == 2
    assert memory.remember_many([]) == []


@pytest.mark.parametrize(
    ("said", "error", "reported"),
    [
        ({"importance": 7}, ValidationError, "less than or equal to 1"),
        ({"categories": "sea"}, ValidationError, "valid list"),
        ({"metadata": {"at": datetime.now(UTC)}}, TypeError, "the metadata `at` .* not JSON data"),
        ({"metadata": {"nan": float("nan")}}, TypeError, "not JSON data"),
    ],
)
def test_what_cannot_be_kept_is_refused(memory: Memory, said: dict[str, Any], error: type[Exception], reported: str):
    with record_events() as events, pytest.raises(error, match=reported):
        memory.remember("x", **said)
    assert events == []
    assert memory.list_records() == []


# ------------------------------------------------------------------------------------------------- recalling
def test_a_scope_holds_what_is_below_it_and_nothing_alongside_it(memory: Memory, mode: Mode):
    for scope in ("/a", "/ab", "/a/b", "/b/a"):
        memory.remember(f"in {scope}", scope=scope)
    matches = mode.run(memory.recall, memory.arecall, "in", "/a")
    assert sorted(contents(matches)) == ["in /a", "in /a/b"]
    assert memory.info("/a").record_count == 2
    assert memory.forget(scope="/a") == 2
    assert memory.list_scopes() == ["/ab", "/b"]


@pytest.mark.parametrize("scope", ["/x.y/%2E", "/../..", "/a b/Ünï", "/langgraph", "//", "/'; DROP TABLE entries"])
def test_any_text_is_a_scope(memory: Memory, scope: str):
    memory.remember("x", scope=scope)
    memory.remember("beside", scope="/other")
    record = memory.recall("x", scope=scope)[0].record
    assert record.content == "x" and record.scope.strip("/") == "/".join(filter(None, scope.split("/")))


def test_categories_and_limits_narrow_what_is_recalled(memory: Memory):
    for number in range(100):
        memory.remember(f"tide {number}", categories=["odd" if number % 2 else "even", "tide"])
    memory.remember("tide tables", categories=["rare"])
    assert contents(memory.recall("tide", categories=["rare"])) == ["tide tables"]
    assert len(memory.recall("tide", categories=["odd", "rare"], limit=40)) == 40
    assert len(memory.recall("tide", categories=[], limit=3)) == 3
    assert memory.recall("tide", categories=["none"]) == []
    assert memory.recall("tide", limit=0) == memory.recall("  ") == []


def test_what_is_private_is_recalled_by_its_source_alone(memory: Memory, mode: Mode):
    memory.remember("open news", source="Ines")
    memory.remember("private news", source="Ines", private=True)
    assert contents(mode.run(memory.recall, memory.arecall, "news")) == ["open news"]
    assert contents(memory.recall("news", source="Marc")) == ["open news"]
    assert len(memory.recall("news", source="Ines")) == 2
    assert len(memory.recall("news", include_private=True)) == 2


def test_many_private_records_do_not_hide_the_others(memory: Memory):
    for number in range(200):
        memory.remember(f"news {number}", source="Ines", private=True)
    memory.remember("old news of others")
    assert contents(memory.recall("news")) == ["old news of others"]


def test_scores_weigh_nearness_age_and_importance():
    config = MemoryConfig()
    month = MemoryRecord(content="x", importance=0.9, created_at=datetime.now(UTC) - timedelta(days=30))
    score, reasons = compute_composite_score(month, 0.8, config)
    assert score == pytest.approx(0.5 * 0.8 + 0.3 * 0.5 + 0.2 * 0.9, abs=1e-3)
    assert reasons == ["semantic", "importance"]


def test_weights_are_settable():
    memory = Memory(embedder=words, semantic_weight=0.0, recency_weight=0.0, importance_weight=1.0)
    memory.remember("sea", importance=0.1)
    memory.remember("mountain", importance=0.9)
    assert contents(memory.recall("sea")) == ["mountain", "sea"]


def test_nearness_is_that_of_the_vectors(memory: Memory):
    memory.remember("ferry")
    memory.semantic_weight, memory.recency_weight, memory.importance_weight = 1.0, 0.0, 0.0
    assert memory.recall("ferry")[0].score == pytest.approx(1.0, abs=1e-6)
    assert memory.recall("pier")[0].score == pytest.approx(1 / 3, abs=1e-6)


def test_a_match_is_reported_with_what_is_known_of_it():
    record = MemoryRecord(content="The ferry", categories=["sea", "port"], metadata={"dates": ["May"], "topics": []})
    assert MemoryMatch(record=record, score=0.6789).format() == (
        "- The ferry (score 0.68)\n  categories: sea, port\n  dates: May"
    )


# ------------------------------------------------------------------------------------------------- looking, changing, forgetting
def test_what_there_is_is_reported(memory: Memory, mode: Mode):
    memory.remember("a", scope="/ports/brest", categories=["sea"])
    memory.remember("b", scope="/ports/brest/pier", categories=["sea", "stone"])
    memory.remember("c", scope="/people")
    assert mode.run(memory.tree, memory.atree) == (
        "/ (3 records)\n  /people (1 record)\n  /ports (2 records)\n"
        "    /ports/brest (2 records)\n      /ports/brest/pier (1 record)"
    )
    assert memory.tree("/ports", max_depth=1) == "/ports (2 records)\n  /ports/brest (2 records)"
    assert mode.run(memory.list_scopes, memory.alist_scopes, "/ports") == ["/ports/brest"]
    assert mode.run(memory.list_categories, memory.alist_categories) == {"sea": 2, "stone": 1}
    info = mode.run(memory.info, memory.ainfo, "/ports")
    assert (info.path, info.record_count, info.categories) == ("/ports", 2, ["sea", "stone"])
    assert info.child_scopes == ["/ports/brest"] and info.oldest_record <= info.newest_record
    listed = mode.run(memory.list_records, memory.alist_records, None, 2, 1)
    assert [record.content for record in listed] == ["b", "a"]
    assert memory.info("/nowhere").record_count == 0


def test_records_are_changed(memory: Memory, mode: Mode):
    record = memory.remember("The ferry leaves at nine", scope="/ports", metadata={"k": 1})
    assert record is not None
    changed = mode.run(memory.update, memory.aupdate, record.id, "The ferry leaves at ten", "/times")
    assert (changed.content, changed.scope, changed.metadata) == ("The ferry leaves at ten", "/times", {"k": 1})
    assert memory.list_records() == [changed]
    assert memory.list_scopes() == ["/times"]
    with pytest.raises(ValueError, match="record `nope` was not found"):
        memory.update("nope", content="x")
    with pytest.raises(ValidationError):
        memory.update(record.id, importance=2.0)


def test_words_that_a_record_had_before_are_remembered_anew(memory: Memory):
    first = memory.remember("nine")
    assert first is not None
    memory.update(first.id, content="ten")
    memory.remember("nine")
    assert sorted(record.content for record in memory.list_records()) == ["nine", "ten"]


def test_records_are_forgotten_by_what_is_known_of_them(memory: Memory, mode: Mode):
    records = memory.remember_many(["a", "b"], categories=["x"], metadata={"run": 1})
    memory.remember("c", categories=["y"], metadata={"run": 2})
    assert mode.run(memory.forget, memory.aforget, None, None, datetime.now(UTC) - timedelta(days=1)) == 0
    assert memory.forget(metadata_filter={"run": 1}, record_ids=[records[0].id, "nope"]) == 1
    assert memory.forget(categories=["x"]) == 1
    assert memory.forget(older_than=datetime.now(UTC) + timedelta(days=1)) == 1
    assert memory.list_records() == []


def test_all_is_forgotten(memory: Memory, mode: Mode):
    memory.remember("a", scope="/x")
    memory.remember("b", scope="/y")
    mode.run(memory.reset, memory.areset, "/x")
    assert memory.list_scopes() == ["/y"]
    mode.run(memory.reset, memory.areset)
    assert memory.list_records() == memory.recall("b") == []


# ------------------------------------------------------------------------------------------------- parts of a memory
def test_a_root_is_above_everything(mode: Mode):
    team = Memory(embedder=words, root_scope="team/x")
    record = mode.run(team.remember, team.aremember, "a", "/y")
    assert record is not None and record.scope == "/team/x/y"
    other = team.remember("b", scope="/y", root_scope="/other")
    assert other is not None and other.scope == "/other/y"
    assert contents(team.recall("a")) == contents(team.recall("a", scope="/y")) == ["a"]
    assert team.tree() == "/team/x (1 record)\n  /team/x/y (1 record)"
    team.reset()
    whole = Memory(embedder=words)
    assert [record.content for record in whole.list_records()] == ["b"]
    team.reset_all()
    assert whole.list_records() == []


def test_a_scope_reads_and_writes_below_its_root(memory: Memory, mode: Mode):
    memory.remember("outside", scope="/b")
    scope = memory.scope("a")
    assert scope.root_path == "/a" and not scope.read_only
    mode.run(scope.remember, scope.aremember, "inside")
    scope.subscope("/c").remember("deeper")
    scope.remember_many(["up"], scope="../../b")
    assert sorted(contents(mode.run(scope.recall, scope.arecall, "side"))) == ["deeper", "inside", "up"]
    assert scope.list_scopes() == ["/a/..", "/a/c"]
    assert scope.info().path == "/a" and scope.tree("/c") == "/a/c (1 record)"
    assert scope.forget() == 3
    assert [record.content for record in memory.list_records()] == ["outside"]


def test_a_slice_reads_several_scopes_as_one(memory: Memory, mode: Mode):
    for scope in ("/a", "/b", "/c", "/a/x", "/ab"):
        memory.remember(f"in {scope}", scope=scope, categories=[scope[1:2]])
    part = memory.slice(["/a", "b"])
    assert sorted(contents(mode.run(part.recall, part.arecall, "in"))) == ["in /a", "in /a/x", "in /b"]
    assert contents(part.recall("in", scope="/a/x")) == ["in /a/x"]
    assert part.recall("in", scope="/c") == []
    assert contents(part.recall("in", limit=1)) != []
    assert part.list_categories() == {"a": 2, "b": 1}
    assert contents(memory.slice(["/a", "/c"], categories=["c"]).recall("in")) == ["in /c"]
    assert memory.slice([]).recall("in") == []


def test_a_slice_is_written_only_where_it_may_be_and_looks(memory: Memory, mode: Mode):
    closed, open_one = memory.slice(["/a"]), memory.slice(["/a"], read_only=False)
    assert mode.run(closed.remember, closed.aremember, "x", "/a") is None
    record = mode.run(open_one.remember, open_one.aremember, "x", "/a/n")
    assert record is not None and record.scope == "/a/n"
    with pytest.raises(ValueError, match="the scope `/ab` is not part of the slice; its scopes are `/a`"):
        open_one.remember("x", "/ab")


def test_parts_that_are_of_no_memory_say_so(memory: Memory):
    for part in (MemoryScope(root_path="/a"), MemorySlice(scopes=["/a"])):
        with pytest.raises(RunError, match="`bind`"):
            part.recall("x")
        assert part.bind(memory).recall("x") == []
        assert type(part).model_validate(part.model_dump()).model_dump() == part.model_dump()


def test_a_read_only_memory_is_not_written(memory: Memory, mode: Mode):
    record = memory.remember("a")
    assert record is not None
    memory.read_only = True
    assert mode.run(memory.remember, memory.aremember, "b") is None
    assert memory.remember_many(["b"]) == []
    changing: list[Callable[[], object]] = [
        memory.forget,
        memory.reset,
        memory.reset_all,
        lambda: memory.update(record.id, "x"),
    ]
    for change in changing:
        with pytest.raises(RunError, match="read-only memory"):
            change()
    assert memory.list_records() == [record]


# ------------------------------------------------------------------------------------------------- the rest
def test_words_that_a_memory_does_not_know_are_reported():
    with pytest.warns(UserWarning, match="unknown arguments of `Memory`, without effect: `embeder`"):
        Memory(embeder=words)  # pyright: ignore[reportCallIssue]
    with pytest.raises(ValidationError, match="is not a storage; pass a path"):
        Memory(storage=3)
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        Memory(recency_weight=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Memory(storage="lancedb").storage is None


def test_events_report_saves_and_queries(memory: Memory, mode: Mode):
    with record_events() as events:
        mode.run(memory.remember, memory.aremember, "The ferry", None, None, {"k": 1})
        memory.remember_many(["a", "b"])
        mode.run(memory.recall, memory.arecall, "ferry")
    summaries = [(event.type, getattr(event, "value", None), event.source_type) for event in events]
    assert summaries == [
        ("memory_save_started", "The ferry", "unified_memory"),
        ("memory_save_completed", "The ferry", "unified_memory"),
        ("memory_save_started", "2 memories", "unified_memory"),
        ("memory_save_completed", "2 memories", "unified_memory"),
        ("memory_query_started", None, "unified_memory"),
        ("memory_query_completed", None, "unified_memory"),
    ]
    saved: Any = events[1]
    assert saved.metadata == {"k": 1} and saved.save_time_ms > 0
    found: Any = events[-1]
    assert (found.query, found.limit) == ("ferry", 10) and len(found.results) == 3 and found.query_time_ms > 0


def test_a_storage_that_fails_is_reported_and_raised(mode: Mode, tmp_path: Path):
    (tmp_path / "memory.db").write_bytes(b"this is a letter, no database at all" * 200)
    memory = Memory(storage=tmp_path)
    with record_events() as events:
        for method, async_method in ((memory.remember, memory.aremember), (memory.recall, memory.arecall)):
            with pytest.raises(StorageError):
                mode.run(method, async_method, "ferry")
    assert [event.type for event in events][1::2] == ["memory_save_failed", "memory_query_failed"]


def test_an_embedder_that_fails_is_reported(mode: Mode):
    def broken(texts: list[str]) -> list[list[float]]:
        raise ConnectionError("the line is cut")

    memory = Memory(embedder=broken)
    with pytest.raises(StorageError, match="the line is cut"):
        mode.run(memory.remember, memory.aremember, "ferry")


def test_many_tasks_of_a_loop_use_it_at_once(memory: Memory):
    async def all_at_once() -> list[MemoryMatch]:
        await asyncio.gather(*(memory.aremember(f"tide {number % 10}") for number in range(40)))
        return await memory.arecall("tide", limit=50)

    assert len(asyncio.run(all_at_once())) == 10


def test_it_is_a_langchain_retriever_and_tool(memory: Memory, mode: Mode):
    memory.remember("The ferry leaves at nine", scope="/a", metadata={"k": 1})
    memory.remember("Mussels grow", scope="/b")
    retriever = memory.as_retriever(limit=1)
    documents = mode.run(retriever.invoke, retriever.ainvoke, "ferry")
    assert [document.page_content for document in documents] == ["The ferry leaves at nine"]
    assert documents[0].metadata["k"] == 1 and documents[0].metadata["scope"] == "/a"
    assert 0 < documents[0].metadata["score"] <= 1
    tool = memory.scope("/b").as_tool("harbour", "Knows the harbour.")
    assert (tool.name, tool.description) == ("harbour", "Knows the harbour.")
    assert mode.run(tool.invoke, tool.ainvoke, {"query": "ferry"}) == "Mussels grow"
    assert memory.slice(["/a"]).as_retriever().invoke("x")[0].page_content == "The ferry leaves at nine"
