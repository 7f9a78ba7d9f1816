"""Clustered vectors with a fixed seed, and the nearest ones to each query."""

import numpy as np

__all__ = ["DIMS", "NEAREST", "Clustered"]

DIMS = 256
NEAREST = 10
_SEED = 7
_PER_CLUSTER = 100
_NOISE = 0.05  # per dimension, around centres of length 1: two of a cluster have a cosine of about 0.61
_PIECE = 10_000


class Clustered:
    """Vectors of length 1, by number; queries are drawn as they are."""

    def __init__(self, n: int, queries: int) -> None:
        self._random = np.random.default_rng(_SEED)
        self._centres = self._normal(max(20, n // _PER_CLUSTER))
        self.queries = self._drawn(queries)
        self.rows = np.concatenate([self._drawn(min(_PIECE, n - begin)) for begin in range(0, n, _PIECE)])

    def _normal(self, n: int) -> np.ndarray:
        return _units(self._random.standard_normal((n, DIMS), dtype=np.float32))

    def _drawn(self, n: int) -> np.ndarray:
        centres = self._centres[self._random.integers(0, len(self._centres), n)]
        return _units(centres + _NOISE * self._random.standard_normal((n, DIMS), dtype=np.float32))

    def nearest(self) -> list[set[int]]:
        """The numbers of the ten vectors nearest to each query: all are compared."""
        scores = np.full((len(self.queries), 0), 0, np.float32)
        numbers = np.full((len(self.queries), 0), 0, np.int64)
        for begin in range(0, len(self.rows), _PIECE):
            piece = self.queries @ self.rows[begin : begin + _PIECE].T
            there = np.broadcast_to(np.arange(begin, begin + piece.shape[1]), piece.shape)
            scores, numbers = np.hstack([scores, piece]), np.hstack([numbers, there])
            best = np.argsort(-scores, axis=1)[:, :NEAREST]
            scores, numbers = np.take_along_axis(scores, best, 1), np.take_along_axis(numbers, best, 1)
        return [set(row.tolist()) for row in numbers]


def _units(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
