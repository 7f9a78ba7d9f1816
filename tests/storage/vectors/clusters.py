"""Clustered vectors with a fixed seed, and an exhaustive search for the nearest ones."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rows", "clustered", "cosines", "nearest_ids", "recall"]

Rows = NDArray[np.float32]


def clustered(n: int, dims: int = 32, *, clusters: int = 40, noise: float = 0.1, seed: int = 1) -> Rows:
    centres = np.random.default_rng(0).standard_normal((clusters, dims))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    random = np.random.default_rng(seed)
    rows = centres[random.integers(0, clusters, n)] + noise * random.standard_normal((n, dims))
    return rows.astype(np.float32)


def _unit(rows: Rows) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows.astype(np.float64), axis=-1, keepdims=True)
    return rows / np.where(lengths == 0, 1, lengths)


def cosines(vectors: Mapping[int, Rows], query: Rows) -> dict[int, float]:
    return {name: float(_unit(row) @ _unit(query)) for name, row in vectors.items()}


def nearest_ids(rows: Rows, query: Rows, k: int) -> set[int]:
    return set(np.argsort(-(_unit(rows) @ _unit(query)), kind="stable")[:k].tolist())


def recall(found: list[set[int]], there: list[set[int]]) -> float:
    return sum(len(one & other) for one, other in zip(found, there, strict=True)) / sum(map(len, there))
