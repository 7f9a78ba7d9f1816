"""The vector index: results, rejected input, and the switch from exact to approximate search."""

import subprocess
import sys

import numpy as np
import pytest
from storage.vectors.clusters import clustered, nearest_ids, recall

from crewgraph.errors import VectorInvalid
from crewgraph.storage.vectors.index import GrowingIndex, Ids


def ids(*numbers: int) -> Ids:
    return np.array(numbers, np.int64)


def small() -> GrowingIndex:
    return GrowingIndex(32, exact_up_to=200)


def test_among_equals_the_least_id_comes_first():
    index = GrowingIndex(2)
    index.add(ids(7, 3, 5), [[1, 1]] * 3)
    assert index.search([1, 1], 2)[0].tolist() in ([3, 5], [3, 7], [5, 7])
    assert index.search([1, 1], 3)[0].tolist() == [3, 5, 7]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0, 2.0, 3.0]], "shape"), ([1.0, 2.0], "shape"), ([[1.0, 0.0], [0.0, 1.0]], "shape"),
        ([[float("nan"), 1.0]], "NaN or infinity"), ([[float("inf"), 1.0]], "NaN or infinity"),
    ],
)  # fmt: skip
def test_other_forms_are_refused_and_nothing_is_added(vectors: list[list[float]], message: str):
    index = GrowingIndex(2)
    with pytest.raises(VectorInvalid, match=message):
        index.add(ids(1), vectors)
    assert len(index) == 0


def test_a_query_of_another_form_is_refused():
    index = GrowingIndex(2)
    with pytest.raises(VectorInvalid, match="shape"):
        index.search([1, 2, 3], 1)
    with pytest.raises(VectorInvalid, match="NaN"):
        index.search([1, float("nan")], 1)


def test_very_long_and_very_short_vectors_have_directions():
    index = GrowingIndex(2)
    index.add(ids(1, 2), [[1e30, 0], [0, 1e-30]])
    assert index.search([0, 1], 1)[1].tolist() == [1]
    assert index.search([1, 0], 1)[0].tolist() == [1]


def test_it_is_exact_while_it_is_small_and_again_when_it_has_shrunk():
    rows = clustered(1000)
    index = small()
    index.add(np.arange(200), rows[:200])
    index.fit()
    assert index.is_exact
    index.add(np.arange(200, 600), rows[200:600])
    index.fit()
    assert not index.is_exact
    assert len(index) == 600
    index.remove(np.arange(50, 600))
    index.fit()
    assert index.is_exact
    assert sorted(index.search(rows[3], 100)[0].tolist()) == list(range(50))
    assert index.search(rows[3], 1)[0].tolist() == [3]


def test_all_is_found_at_once_wherever_it_is():
    rows = clustered(3000)
    index = small()
    for begin in range(0, 3000, 100):
        index.add(np.arange(begin, begin + 100), rows[begin : begin + 100])
        index.fit()
        assert index.search(rows[begin + 99], 1)[0].tolist() == [begin + 99]


def test_it_finds_98_of_100_of_what_is_nearest():
    rows, queries = clustered(20_000, clusters=300), clustered(100, clusters=300, seed=2)
    index = GrowingIndex(32, exact_up_to=1000)
    index.add(np.arange(20_000), rows)
    index.fit()
    assert not index.is_exact
    neighbours = [set(index.search(query, 10)[0].tolist()) for query in queries]
    assert recall(neighbours, [nearest_ids(rows, query, 10) for query in queries]) >= 0.98


def test_vectors_without_order_are_found_all_the_same():
    random = np.random.default_rng(5)
    rows, queries = random.standard_normal((5000, 32)), random.standard_normal((50, 32))
    index = GrowingIndex(32, exact_up_to=1000)
    index.add(np.arange(5000), rows)
    index.fit()
    neighbours = [set(index.search(query, 10)[0].tolist()) for query in queries]
    assert recall(neighbours, [nearest_ids(rows.astype(np.float32), query, 10) for query in queries]) >= 0.9


@pytest.mark.parametrize("allowed", [3, 100, 600, 1500, 5900])
@pytest.mark.parametrize("far", [0, 2**40], ids=["bits", "numbers"])
def test_of_those_allowed_the_nearest_are_found(allowed: int, far: int):
    rows = clustered(6000)
    index = small()
    index.add(np.arange(6000) + far, rows)
    index.fit()
    chosen = np.sort(np.random.default_rng(2).choice(6000, allowed, replace=False))
    expected, actual = list[set[int]](), list[set[int]]()
    for query in clustered(30, seed=4):
        found = index.search(query, 10, np.append(chosen + far, [far + 10**6, far + 10**6 + 1]))[0] - far
        actual.append(set(found.tolist()))
        expected.append({int(chosen[at]) for at in nearest_ids(rows[chosen], query, 10)})
        assert actual[-1] <= set(chosen.tolist())
        assert len(found) == min(10, allowed)
    assert recall(actual, expected) >= 0.98


def test_importing_it_starts_no_thread_and_loads_nothing_that_is_not_needed():
    program = """
import sys, threading, crewgraph.storage.vectors.index
assert threading.active_count() == 1
assert not {"langgraph", "langchain_core"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
