"""How many lists a search has to look into, measured on the vectors themselves."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

from crewgraph.vectors.arrays import Ids, Scores, Vectors
from crewgraph.vectors.lists import Lists

__all__ = ["Calibration"]

_NEIGHBOURS = 10
_RECALL = 0.98  # of the nearest 10 of vectors that are in the index
_MARGIN = 1.5  # queries are mostly less like the vectors than these are like each other
_LEAST = 16


class Calibration:
    """Compares some vectors with all, list after list, and sees in which lists their nearest are.

    Args:
        lists: what is searched.
        queries: vectors that are in it.
    """

    def __init__(self, lists: Lists, queries: Vectors) -> None:
        self._lists, self._queries = lists, queries
        n = len(queries)
        self._scores: Scores = np.full((n, _NEIGHBOURS + 1), -np.inf, np.float32)
        self._found: NDArray[np.int64] = np.full((n, _NEIGHBOURS + 1), -1, np.int64)  # numbers of lists

    def look(self, number: int) -> None:
        """Compare with one list; this is to be done for all of them."""
        ids, scores = self._lists.near_in(number, self._queries, _NEIGHBOURS + 1)
        self._keep(np.full_like(ids, number), scores)

    def _keep(self, numbers: Ids, scores: Scores) -> None:
        numbers, scores = np.hstack([self._found, numbers]), np.hstack([self._scores, scores])
        order = np.argsort(-scores, axis=1, kind="stable")[:, : _NEIGHBOURS + 1]
        self._found = np.take_along_axis(numbers, order, 1)
        self._scores = np.take_along_axis(scores, order, 1)

    @property
    def probes(self) -> int:
        """So many lists, the nearest by their centres, have what is to be found."""
        near = np.einsum("ij,kj->ik", self._queries, self._lists.centres)
        ranks = np.argsort(np.argsort(-near, axis=1, kind="stable"), axis=1)
        found = self._found[:, 1:]  # the first is the vector itself
        needed = np.take_along_axis(ranks, np.maximum(found, 0), 1)[found >= 0]
        if not len(needed):
            return _LEAST
        return max(_LEAST, ceil(_MARGIN * (1 + int(np.sort(needed)[int(_RECALL * len(needed))]))))
