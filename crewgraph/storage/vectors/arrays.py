"""Ids and vectors as arrays, validated on input."""

import math
from typing import Any, TypeAlias

import numpy as np

# `np.unique` would import it on first use, and a process forked meanwhile would hang.
import numpy.ma  # pyright: ignore[reportUnusedImport]
from numpy.typing import ArrayLike, NDArray

from crewgraph.errors import VectorInvalid

__all__ = [
    "Ids",
    "Scores",
    "Vectors",
    "as_ids",
    "normalized_query",
    "normalized_rows",
    "normalized_vectors",
    "ordered",
]


Ids: TypeAlias = NDArray[np.int64]
"""Ids of vectors, each at least 0; shape (n,)."""

Vectors: TypeAlias = NDArray[np.float32]
"""Normalized rows, shape (n, dims), or one of them, shape (dims,)."""

Scores: TypeAlias = NDArray[np.float32]
"""Cosine similarities, from -1 to 1; shape (n,)."""


def as_ids(values: ArrayLike) -> Ids:
    """Convert ids to one array.

    Raises:
        VectorInvalid: they are not integers, not one-dimensional, or below 0.
    """
    ids: NDArray[Any] = np.asarray(values)
    if ids.size == 0:
        return np.empty(0, np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise VectorInvalid(f"ids must be one-dimensional integers, not {ids.dtype} of shape {ids.shape}")
    ids = np.ascontiguousarray(ids, np.int64)
    if ids.min() < 0:
        raise VectorInvalid(f"the id {ids.min()} is negative; ids start at 0")
    return ids


def normalized_query(vector: ArrayLike, dims: int) -> Vectors:
    """Normalize one vector of shape (dims,); a faster `normalized_rows`.

    Raises:
        VectorInvalid: as `normalized_rows`.
    """
    row: NDArray[Any] = np.asarray(vector, np.float32)
    if row.shape != (dims,):
        raise VectorInvalid(f"a query must have the shape ({dims},), not {row.shape}")
    wide = row.astype(np.float64)
    length = math.sqrt(wide.dot(wide))
    if not math.isfinite(length):
        raise VectorInvalid("the query contains NaN or infinity; its embedder is at fault")
    return (wide / (length or 1)).astype(np.float32)


def normalized_rows(vectors: ArrayLike, dims: int) -> Vectors:
    """Normalize vectors to length 1; a zero vector is left as it is.

    Raises:
        VectorInvalid: they have other dimensions, or contain NaN or infinity.
    """
    rows: NDArray[Any] = np.asarray(vectors, np.float32)
    if rows.ndim != 2 or rows.shape[1] != dims:
        raise VectorInvalid(f"vectors must have the shape (n, {dims}), not {rows.shape}")
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if not np.isfinite(lengths).all():
        bad = int(np.flatnonzero(~np.isfinite(lengths))[0])
        raise VectorInvalid(f"vector {bad} of {len(rows)} contains NaN or infinity; its embedder is at fault")
    lengths[lengths == 0] = 1
    return np.ascontiguousarray(rows / lengths[:, None], np.float32)


def normalized_vectors(ids: Ids, vectors: ArrayLike, dims: int) -> tuple[Ids, Vectors]:
    """Normalize one vector for each id; the last one wins for a repeated id.

    Raises:
        VectorInvalid: as `normalized_rows`, or the numbers of ids and vectors differ.
    """
    if len(ids) == 0:
        return ids, np.empty((0, dims), np.float32)
    rows = normalized_rows(vectors, dims)
    if len(rows) != len(ids):
        raise VectorInvalid(f"there are {len(ids)} ids and {len(rows)} vectors")
    if len(ids) == 1:
        return ids, rows
    _, last = np.unique(ids[::-1], return_index=True)
    if len(last) == len(ids):
        return ids, rows
    last_positions = np.sort(len(ids) - 1 - last)
    return ids[last_positions], rows[last_positions]


def ordered(ids: Ids, scores: Scores) -> tuple[Ids, Scores]:
    """The highest scores first; ties are ordered by id."""
    order = np.lexsort((ids, -scores))
    return ids[order], scores[order]
