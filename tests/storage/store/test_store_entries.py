"""Putting, getting, deleting, listing and searching without a query."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from crewgraph.storage.store.entries import path_of, search_newest
from crewgraph.storage.store.faiss_store import FaissStore
from storage.store.store_face import Face


def test_namespaces_do_not_leak_by_the_beginnings_of_their_labels(face: Face):
    for namespace in [
        ("a",),
        ("ab",),
        ("a", "b"),
        ("a/b",),
        ("a", "bc"),
        ("A",),
        ("a%",),
        ("a_",),
        ("a*",),
        ("á",),
        ("\U0010ffff",),
    ]:
        face.put(namespace, "/".join(namespace), {"text": "tea"})
    assert face.keys(("a",)) == ["a/bc", "a/b", "a"]
    assert sorted(face.keys(("a",), query="tea")) == ["a", "a/b", "a/bc"]
    assert face.keys(("a", "b")) == ["a/b"]
    assert face.keys(("a", "b"), query="tea") == ["a/b"]
    assert face.namespaces(prefix=("a",)) == [("a",), ("a", "b"), ("a", "bc")]
    assert face.keys(("a%",)) == ["a%"]
    assert face.keys(("a*",)) == ["a*"]
    assert len(face.keys((), limit=20)) == 11


@pytest.mark.parametrize("namespace", [(), ("",), ("a", ""), ("a.b",), ("langgraph", "x"), (1,), ("a\0",), ("\ud800",)])
def test_a_namespace_that_cannot_be_is_refused(face: Face, namespace: Any):
    with pytest.raises(InvalidNamespaceError):
        face.put(namespace, "k", {"n": 1})


def test_a_label_with_a_period_is_refused_in_a_batch_too(face: Face):
    face.put(("a", "b"), "k", {"n": 1})
    for op in (
        GetOp(("a.b",), "k"),
        PutOp(("a.b",), "k", {}),
        PutOp(("a.b",), "k", None),
        SearchOp(("a.b",)),
        ListNamespacesOp((MatchCondition("prefix", ("a.b",)),)),
    ):
        with pytest.raises(InvalidNamespaceError):
            face.batch([op])
    assert face.keys(("a", "b")) == ["k"]


def test_reads_of_a_batch_see_the_store_as_it_was_before_and_the_last_put_counts(face: Face):
    face.put(("a",), "old", {"n": 0})
    results: list[Any] = face.batch(
        [
            PutOp(("a",), "k", {"n": 1, "text": "one"}), GetOp(("a",), "k"), SearchOp(("a",)),
            SearchOp(("a",), query="one"), ListNamespacesOp(), PutOp(("b",), "k", {"n": 1}),
            PutOp(("a",), "k", {"n": 2, "text": "two"}), PutOp(("b",), "k", None), PutOp(("a",), "old", None),
            PutOp(("a",), "old", {"n": 3}), GetOp(("a",), "old"),
        ]
    )  # fmt: skip
    assert results[:2] == [None, None]
    assert [item.key for item in results[2]] == ["old"]
    assert results[3:5] == [[], [("a",)]]
    assert results[5:10] == [None] * 5
    assert results[10].value == {"n": 0}
    assert {item.key: item.value["n"] for item in face.search(())} == {"k": 2, "old": 3}
    assert [item.key for item in face.search((), query="two")] == ["k"]


def test_a_batch_is_written_whole_or_not_at_all(face: Face):
    with pytest.raises(TypeError, match="The value of `bad` in `a` cannot be written as JSON"):
        face.batch([PutOp(("a",), "good", {"n": 1}), PutOp(("a",), "bad", {"n": object()})])
    assert face.keys(()) == []


@pytest.mark.parametrize(
    ("value", "kind"),
    [({"n": object()}, TypeError), ({"n": float("nan")}, ValueError), ({"n": float("inf")}, ValueError)]
    + [({"n": {1, 2}}, TypeError), ({"n": "\ud800"}, ValueError), ({(1, 2): 1}, TypeError)],
)
def test_a_value_that_is_no_json_is_refused(face: Face, value: dict[str, Any], kind: type[Exception]):
    with pytest.raises(kind, match="`k` in `a`"):
        face.put(("a",), "k", value)


def test_a_negative_limit_or_offset_is_refused(face: Face):
    for options in ({"limit": -1}, {"offset": -1}):
        with pytest.raises(ValueError, match="at least 0"):
            face.search(("n",), **options)
        with pytest.raises(ValueError, match="at least 0"):
            face.namespaces(**options)


def test_what_looks_like_sql_is_a_text(face: Face):
    nasty = "x' OR '1'='1'; DROP TABLE entries; --"
    face.put((nasty,), nasty, {nasty: nasty, 'a"b': 1, "a\\b": 2, "a.b": 3, "$[0]": 4})
    face.put(("other",), "k", {"n": 1})
    assert face.keys((nasty,)) == [nasty]
    assert face.keys((), filter={nasty: nasty}) == [nasty]
    assert face.keys((), filter={"a.b": {"$gte": 3}}) == face.keys((), filter={"n": None}) == [nasty]
    for name in ('a"b', "a\\b", "a\nb"):
        with pytest.raises(ValueError, match="cannot name the field"):
            face.search((), filter={name: 1})
    assert face.keys((), filter={"a": {"b": 3}}) == []
    assert face.keys((), filter={nasty: {"$ne": nasty}}) == ["k"]
    assert face.namespaces(prefix=(nasty,)) == [(nasty,)]
    assert face.get((nasty,), nasty) is not None
    with pytest.raises(ValueError, match="Unsupported operator: `\\$gt\\) OR 1"):
        face.search((), filter={"n": {"$gt) OR 1=1 --": 0}})


def test_a_key_is_any_text(face: Face):
    for key in ("", " ", "ключ", "k\nk", "k" * 5000, "a\0b"):
        face.put(("a",), key, {"key": key})
        item = face.get(("a",), key)
        assert item is not None and item.value == {"key": key}
    with pytest.raises(ValueError, match="not valid Unicode"):
        face.put(("a",), "\ud800", {})


def test_the_newest_of_all_entries_are_found_without_looking_into_each_namespace(tmp_path: Path):
    path = str(tmp_path / "store.db")
    with FaissStore(path) as store:
        store.batch([PutOp(("users", str(number)), "k", {"n": number}) for number in range(300)])
        with closing(sqlite3.connect(path)) as connection:
            statements: list[str] = []
            connection.set_trace_callback(statements.append)
            newest = search_newest(connection, SearchOp((), {"n": {"$lt": 200}}, 2, 1), float("-inf"))
    assert [entry.path for entry in newest] == [path_of(("users", "198")), path_of(("users", "197"))]
    assert len(statements) == 1
