"""Centres that vectors stand around: k-means by cosine."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crewgraph.vectors.arrays import Vectors
from crewgraph.vectors.lists import nearest

__all__ = ["centres_of"]

_ROUNDS = 8
_PIECE = 4096  # rows at once, so that whoever waits for the end of it waits briefly


def centres_of(rows: Vectors, n: int, seed: int, stopped: Callable[[], bool]) -> Vectors | None:
    """So many centres of vectors of length 1; None if it was stopped before its end."""
    random = np.random.default_rng(seed)
    centres = rows[np.sort(random.choice(len(rows), n, replace=False))]
    for _ in range(_ROUNDS):
        sums = np.zeros_like(centres)
        for begin in range(0, len(rows), _PIECE):
            if stopped():
                return None
            piece = rows[begin : begin + _PIECE]
            _gather(piece, nearest(centres, piece), sums)
        lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        lost = lengths == 0  # nothing is near them, or what is has no direction
        sums[lost] = rows[random.choice(len(rows), int(lost.sum()))]
        lengths[lost] = 1
        centres = sums / lengths[:, None]
    return centres


def _gather(rows: Vectors, numbers: NDArray[np.int64], sums: Vectors) -> None:
    order = np.argsort(numbers, kind="stable")
    there, begins = np.unique(numbers[order], return_index=True)
    sums[there] += np.add.reduceat(rows[order], begins, axis=0)
