"""The index behaves like an exhaustive search over a dict of vectors, for random operations."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from combinations import of
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from storage.vectors.clusters import Rows, cosines

from crewgraph.storage.vectors.index import GrowingIndex, Ids

DIMS = 4
IDS = st.integers(0, 60)
NUMBER = st.integers(-4, 4)
ROW = st.lists(NUMBER, min_size=DIMS, max_size=DIMS).map(lambda row: np.array(row, np.float32))


def ids(names: Iterable[int]) -> Ids:
    return np.fromiter(names, np.int64)


class Indexes(RuleBasedStateMachine):
    @initialize(exact_up_to=st.sampled_from([4, 1000]))
    def begin(self, exact_up_to: int):
        self.index = GrowingIndex(DIMS, exact_up_to=exact_up_to)
        self.there: dict[int, Rows] = {}

    @rule(given=st.lists(st.tuples(IDS, ROW), max_size=12))
    def add(self, given: list[tuple[int, Rows]]):
        added = dict(given)
        self.index.add(ids(added), np.array([*added.values()], np.float32).reshape(-1, DIMS))
        self.index.fit()
        self.there.update(added)

    @rule(given=st.lists(IDS, max_size=30))
    def remove(self, given: list[int]):
        gone = [self.there.pop(name, None) for name in given]
        assert self.index.remove(ids(given)) == sum(one is not None for one in gone)
        self.index.fit()

    @rule(query=ROW, k=st.integers(0, 80))
    def search(self, query: Rows, k: int):
        matches, there = self.index.search(query, k), cosines(self.there, query)
        if self.index.is_exact:
            self.compare(matches, there, k)
            return
        names, scores = matches[0].tolist(), matches[1].tolist()
        assert scores == pytest.approx([there[name] for name in names], abs=1e-5)
        assert scores == sorted(scores, reverse=True)
        assert len(set(names)) == len(names) == min(k, len(there))

    @rule(query=ROW, k=st.integers(0, 12), allowed=st.lists(IDS, max_size=40))
    def search_among(self, query: Rows, k: int, allowed: list[int]):
        there = {name: row for name, row in self.there.items() if name in allowed}
        self.compare(self.index.search(query, k, ids(allowed)), cosines(there, query), k)  # all are compared

    def compare(self, found: tuple[Any, Any], there: dict[int, float], k: int):
        names, scores = found[0].tolist(), found[1].tolist()
        expected = sorted(there.values(), reverse=True)[:k]
        assert scores == pytest.approx(expected, abs=1e-5)
        assert scores == pytest.approx([there[name] for name in names], abs=1e-5)
        assert len(set(names)) == len(names)

    @invariant()
    def it_has_what_is_there(self):
        assert len(self.index) == len(self.there)
        assert sorted(self.index.search(np.zeros(DIMS), 80)[0].tolist()) == sorted(self.there)


Indexes.TestCase.settings = settings(max_examples=of(20, 100), stateful_step_count=20)
test_any_order_of_writes_and_searches = Indexes.TestCase
