"""The same random operations on this store and on LangGraph's own: the same results."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from combinations import of
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    NamespaceMatchType,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from crewgraph.storage.store import FaissStore
from storage.store.bag_of_words import Bag

LABELS = st.sampled_from(["a", "ab", "b", "a_b", "ü"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(LABELS, max_size=2).map(tuple)
KEYS = st.sampled_from(["k", "l", "m"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 2.0]), st.sampled_from(["", "x", "1"])
)
NESTED = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["p", "q r"]), inner, max_size=2)
    ),
    max_leaves=4,
)
WORDS = st.lists(st.sampled_from(["tea", "milk", "cup", "salt"]), min_size=1, max_size=3).map(" ".join)
VALUES = st.fixed_dictionaries({"n": st.integers(-3, 3), "text": WORDS}, optional={"v": NESTED, "w": NESTED})
COMPARISONS = st.dictionaries(
    st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"]), st.integers(-3, 3), min_size=1
)
EQUALITY = st.one_of(NESTED, st.fixed_dictionaries({"$ne": NESTED}), st.fixed_dictionaries({"$eq": NESTED}))
FILTERS = st.fixed_dictionaries({}, optional={"n": COMPARISONS, "v": EQUALITY, "w": EQUALITY})
PUTS = st.tuples(NAMESPACES, KEYS, st.one_of(VALUES, VALUES, st.none())).map(lambda parts: PutOp(*parts))
PATHS = st.lists(st.one_of(LABELS, st.just("*")), min_size=1, max_size=2).map(tuple)
KINDS: list[NamespaceMatchType] = ["prefix", "suffix"]
CONDITIONS = st.tuples(st.sampled_from(KINDS), PATHS).map(lambda parts: MatchCondition(*parts))
DEPTHS = st.one_of(st.none(), st.integers(1, 3))
LISTS = st.tuples(st.lists(CONDITIONS, max_size=2).map(tuple), DEPTHS, st.integers(0, 5), st.integers(0, 2)).map(
    lambda parts: ListNamespacesOp(*parts)
)
GETS = st.tuples(NAMESPACES, KEYS).map(lambda parts: GetOp(*parts))
SEARCHES = st.tuples(PREFIXES, FILTERS, st.just(100)).map(lambda parts: SearchOp(*parts))
EVERYTHING = PREFIXES.map(lambda prefix: SearchOp(prefix, None, 100))
NEAREST = st.tuples(PREFIXES, FILTERS, st.integers(1, 6), st.integers(0, 3), WORDS).map(lambda parts: SearchOp(*parts))


def batches(*kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[list[list[Any]]]:
    return st.lists(st.lists(st.one_of(PUTS, *kinds), max_size=6), min_size=1, max_size=6)


@contextmanager
def langgraphs_sqlite() -> Generator[SqliteStore]:
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    try:
        store = SqliteStore(connection)
        store.setup()
        yield store
    finally:
        connection.close()


def describe(result: Any) -> Any:
    """A result without times and without the order of equals."""
    if isinstance(result, list):
        return sorted(map(describe, result), key=repr)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(result, Item):
        score = getattr(result, "score", None)
        return result.namespace, result.key, result.value, None if score is None else round(score, 4)
    return result


def same(store: BaseStore, oracle: BaseStore, ops: list[Op]) -> None:
    for op, actual, expected in zip(ops, store.batch(ops), oracle.batch(ops), strict=True):
        assert describe(actual) == describe(expected), op


@settings(max_examples=of(30, 150))
@given(batches(GETS, SEARCHES))
def test_values_and_filters_are_as_in_the_store_in_memory(given: list[list[Op]]):
    with FaissStore(embedder=False) as store:
        oracle = InMemoryStore()
        for ops in given:
            same(store, oracle, ops)


@settings(max_examples=of(30, 150))
@given(batches(GETS, LISTS, EVERYTHING))
def test_namespaces_are_as_in_the_store_on_sqlite(given: list[list[Op]]):
    with FaissStore(embedder=False) as store, langgraphs_sqlite() as oracle:
        for ops in given:
            same(store, oracle, ops)


def nearest_by_hand(store: BaseStore, op: SearchOp, bag: Bag) -> list[float]:
    """The scores that a search by meaning should have, from all that passes its filter."""
    every = InMemoryStore(index={"dims": bag.dims, "embed": bag, "fields": ["text"]})
    for item in store.search(op.namespace_prefix, filter=op.filter, limit=1000):
        every.put(item.namespace, item.key, item.value)
    matches = every.search((), query=op.query, limit=op.limit, offset=op.offset)
    return [round(item.score or 0.0, 4) for item in matches]


@settings(max_examples=of(30, 150))
@given(st.lists(st.one_of(PUTS, NEAREST), max_size=30))
def test_scores_are_as_in_the_store_in_memory(given: list[Op]):
    bag = Bag()
    with FaissStore(index={"embed": bag, "fields": ["text"]}) as store:
        for op in given:
            result: Any = store.batch([op])[0]
            if isinstance(op, SearchOp):
                scores = [round(item.score or 0.0, 4) for item in result]
                assert scores == nearest_by_hand(store, op, bag)
