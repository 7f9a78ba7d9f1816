"""The unified memory: remember, recall and forget."""

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
from crewgraph.memory import MemoryConfig, MemoryMatch, MemoryRecord, compute_composite_score
from crewgraph.testing import record_events

from .unified_parts import knowing, words


@pytest.fixture
def memory() -> Memory:
    return Memory(embedder=words)


def contents(found: list[MemoryMatch]) -> list[str]:
    return [match.record.content for match in found]


def test_what_is_remembered_is_recalled(memory: Memory, mode: Mode):
    record = mode.run(memory.remember, memory.aremember, "The ferry leaves at nine")
    assert record is not None and record.scope == "/" and record.importance == 0.5
    mode.run(memory.remember, memory.aremember, "Mussels grow on the pier")
    matches = mode.run(memory.recall, memory.arecall, "When does the ferry leave?")
    assert contents(matches) == ["The ferry leaves at nine", "Mussels grow on the pier"]
    assert matches[0].record == record
    assert matches[0].match_reasons == ["semantic", "recency"]


def test_a_blank_text_is_neither_remembered_nor_looked_for(mode: Mode):
    memory = Memory(llm=knowing(place={"suggested_scope": "/", "importance": 0.5}), embedder=words)
    mode.run(memory.remember, memory.aremember, "The ferry leaves at nine")
    assert [mode.run(memory.remember, memory.aremember, text) for text in ("", "  ")] == [None, None]
    assert [record.content for record in memory.remember_many(["", "Mussels grow on the pier"])] == [
        "Mussels grow on the pier"
    ]
    assert [memory.recall(query, depth="shallow") for query in ("", " ")] == [[], []]


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


def test_projects_do_not_see_each_other(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    memory.remember("The ferry leaves at nine")
    monkeypatch.chdir(tmp_path)
    assert memory.recall("ferry") == []


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


def test_a_scope_holds_what_is_below_it_and_nothing_alongside_it(memory: Memory, mode: Mode):
    for scope in ("/a", "/ab", "/a/b", "/b/a"):
        memory.remember(f"in {scope}", scope=scope)
    matches = mode.run(memory.recall, memory.arecall, "in", "/a")
    assert sorted(contents(matches)) == ["in /a", "in /a/b"]
    assert memory.info("/a").record_count == 2
    assert memory.forget(scope="/a") == 2
    assert memory.list_scopes() == ["/ab", "/b"]


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


def test_a_read_only_memory_is_not_written(memory: Memory, mode: Mode):
    record = memory.remember("a")
    assert record is not None
    memory.read_only = True
    assert mode.run(memory.remember, memory.aremember, "b") is None
    assert memory.remember_many(["b"]) == []
    changing: list[Callable[[], object]] = [
        memory.forget, memory.reset, memory.reset_all, lambda: memory.update(record.id, "x"),
    ]  # fmt: skip
    for change in changing:
        with pytest.raises(RunError, match="read-only memory"):
            change()
    assert memory.list_records() == [record]


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
