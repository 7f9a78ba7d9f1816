"""Ids and vectors as arrays, checked where they come in."""

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.ma  # pyright: ignore[reportUnusedImport]
from numpy.typing import ArrayLike, NDArray

from crewgraph.errors import VectorInvalid

__all__ = ["Ids", "Scores", "Vectors", "best", "ids_of", "merged", "unit", "units", "units_of"]


# Else `np.unique` imports it when it is first used, and a process that is forked meanwhile waits for ever.

Ids: TypeAlias = NDArray[np.int64]
"""Names of vectors, each at least 0; shape (n,)."""

Vectors: TypeAlias = NDArray[np.float32]
"""Rows of length 1, shape (n, dims), or one of them, shape (dims,)."""

Scores: TypeAlias = NDArray[np.float32]
"""Cosines, from -1 to 1; shape (n,)."""


def ids_of(given: ArrayLike) -> Ids:
    """Ids as one array.

    Raises:
        VectorInvalid: they are not whole numbers, not in one row, or below 0.
    """
    ids: NDArray[Any] = np.asarray(given)
    if ids.size == 0:
        return np.empty(0, np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise VectorInvalid(f"ids are a row of whole numbers, not {ids.dtype} of shape {ids.shape}")
    ids = np.ascontiguousarray(ids, np.int64)
    if ids.min() < 0:
        raise VectorInvalid(f"the id {ids.min()} is negative; give ids of 0 and above")
    return ids


def unit(given: ArrayLike, dims: int) -> Vectors:
    """As `units`, of one vector, of shape (dims,); quickly.

    Raises:
        VectorInvalid: as `units`.
    """
    row: NDArray[Any] = np.asarray(given, np.float32)
    if row.shape != (dims,):
        raise VectorInvalid(f"a query of shape ({dims},) can be answered here, not of shape {row.shape}")
    wide = row.astype(np.float64)
    length = math.sqrt(wide.dot(wide))
    if not math.isfinite(length):
        raise VectorInvalid("the query holds NaN or infinity; its embedder is at fault")
    return (wide / (length or 1)).astype(np.float32)


def units(given: ArrayLike, dims: int) -> Vectors:
    """Vectors of length 1 in the directions of those given; a vector of zeros has no direction and stays as it is.

    Raises:
        VectorInvalid: they have other dimensions, or hold NaN or infinity.
    """
    rows: NDArray[Any] = np.asarray(given, np.float32)
    if rows.ndim != 2 or rows.shape[1] != dims:
        raise VectorInvalid(f"vectors of shape (n, {dims}) are indexed here, not of shape {rows.shape}")
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if not np.isfinite(lengths).all():
        bad = int(np.flatnonzero(~np.isfinite(lengths))[0])
        raise VectorInvalid(f"vector {bad} of {len(rows)} holds NaN or infinity; its embedder is at fault")
    lengths[lengths == 0] = 1
    return np.ascontiguousarray(rows / lengths[:, None], np.float32)


def units_of(ids: Ids, given: ArrayLike, dims: int) -> tuple[Ids, Vectors]:
    """As `units`, one for each id; where an id is given twice, the last one counts.

    Raises:
        VectorInvalid: as `units`, or there are more or fewer vectors than ids.
    """
    if len(ids) == 0:
        return ids, np.empty((0, dims), np.float32)
    rows = units(given, dims)
    if len(rows) != len(ids):
        raise VectorInvalid(f"there are {len(ids)} ids and {len(rows)} vectors")
    if len(ids) == 1:
        return ids, rows
    _, last = np.unique(ids[::-1], return_index=True)
    if len(last) == len(ids):
        return ids, rows
    kept = np.sort(len(ids) - 1 - last)
    return ids[kept], rows[kept]


def best(ids: Ids, scores: Scores, k: int) -> tuple[Ids, Scores]:
    """The k of the highest scores, the highest first; among equals the least id."""
    if k <= 0:
        return ids[:0], scores[:0]
    if k < len(scores):
        kept = np.argpartition(scores, len(scores) - k)[len(scores) - k :]
        ids, scores = ids[kept], scores[kept]
    order = np.lexsort((ids, -scores))
    return ids[order], scores[order]


def merged(parts: list[tuple[Ids, Scores]], k: int) -> tuple[Ids, Scores]:
    """The best k of several findings, or of none."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    return best(np.concatenate([ids for ids, _ in parts]), np.concatenate([scores for _, scores in parts]), k)
