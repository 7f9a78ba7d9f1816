"""Nearest-neighbour search with faiss, which is used in this module only: every query is compared with all vectors.

Of faiss's index types IVF, here with one list, removes vectors at once. Searches and writes run on the calling thread: more
threads cost more than they gain.
"""

import atexit
import os
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Any, TypeAlias
from weakref import WeakSet

import faiss
import numpy as np

# `np.unique` would import it on first use, and a process forked meanwhile would hang.
import numpy.ma  # pyright: ignore[reportUnusedImport]
from numpy.typing import ArrayLike, NDArray

from crewgraph.core.loops.threads import uninterrupted
from crewgraph.errors import VectorInvalid

Ids: TypeAlias = NDArray[np.int64]
"""Ids of vectors, each at least 0; shape (n,)."""

Vectors: TypeAlias = NDArray[np.float32]
"""Normalized rows, shape (n, dims), or one of them, shape (dims,)."""

Scores: TypeAlias = NDArray[np.float32]
"""Cosine similarities, from -1 to 1; shape (n,)."""


_faiss: Any = faiss  # much of it is put together while it is imported, and its types do not say so

_PATIENCE = 5.0  # seconds, for a thread to come out of faiss
_LARGEST_BITMAP = 1 << 28  # the greatest id of which sets of ids are held as bits


class GrowingIndex:
    """Vectors by id, compared by cosine; any thread may write or search, one at a time.

    Ids are integers from 0. Vectors need not be normalized. A zero vector has the score 0; NaN and infinity are rejected. A
    forked process gets a copy that it can use independently.

    Args:
        dims: the dimensions of its vectors.
    """

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self.lock = RLock()
        """Held by searches and writes, and by forks: also the locks of BLAS are open then."""

        quantizer = _faiss.IndexFlatIP(dims)
        quantizer.add(np.zeros((1, dims), np.float32))
        self._index = _faiss.IndexIVFFlat(quantizer, dims, 1, _faiss.METRIC_INNER_PRODUCT)
        self._index.set_direct_map_type(_faiss.DirectMap.Hashtable)
        self._index.is_trained = True
        with _adding:
            _guarded.add(self)

    @uninterrupted
    def __len__(self) -> int:
        with self.lock:
            return self._index.ntotal

    @uninterrupted
    def add(self, ids: Ids, vectors: ArrayLike) -> None:
        """Add or replace vectors: different ids, of shape (n,), vectors of shape (n, dims).

        Raises:
            VectorInvalid: vectors of another shape, or with NaN or infinity; nothing is added.
        """
        rows = _normalized(vectors, (len(ids), self.dims))
        with self.lock, _one_thread():
            self._remove(ids)
            if len(ids):
                self._index.add_with_ids(rows, ids)

    @uninterrupted
    def remove(self, ids: Ids) -> int:
        """Remove vectors by id and return how many there were; unknown ids are ignored."""
        with self.lock, _one_thread():
            return self._remove(ids)

    @uninterrupted
    def search(self, query: ArrayLike, k: int, allowed: Ids | None = None) -> tuple[Ids, Scores]:
        """The ids and scores of the k nearest vectors, nearest first; fewer if there are no more.

        Args:
            query: shape (dims,).
            k: the number of vectors.
            allowed: compares these ids only, all of them; None searches all. Unknown ids are ignored.

        Raises:
            VectorInvalid: the query has another shape, or NaN or infinity.
        """
        row = _normalized(np.asarray(query, np.float32)[None], (1, self.dims))
        with self.lock, _one_thread():
            k = min(k, self._index.ntotal)
            if k <= 0 or (allowed is not None and not len(allowed)):
                return np.empty(0, np.int64), np.empty(0, np.float32)
            selector = None if allowed is None else _selector(allowed)
            scores, ids = self._index.search(row, k, params=_faiss.SearchParametersIVF(sel=selector, nprobe=1))
        found = ids[0] >= 0
        ids, scores = ids[0][found], scores[0][found]
        order = np.lexsort((ids, -scores))  # ties are ordered by id
        return ids[order], scores[order]

    def _remove(self, ids: Ids) -> int:
        removed = np.ascontiguousarray(ids, np.int64)
        return self._index.remove_ids(_faiss.IDSelectorArray(len(ids), _faiss.swig_ptr(removed))) if len(ids) else 0


@contextmanager
def _one_thread() -> Generator[None]:
    """Limit faiss to one thread; the setting is per thread, and the caller's is restored."""
    before = _faiss.omp_get_max_threads()
    _faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        _faiss.omp_set_num_threads(before)


def _selector(ids: Ids) -> Any:
    allowed = np.ascontiguousarray(ids, np.int64)
    top = int(allowed.max())
    if top >= min(_LARGEST_BITMAP, 1024 * len(allowed)):
        return _faiss.IDSelectorBatch(len(allowed), _faiss.swig_ptr(allowed))
    mask = np.zeros(top + 1, np.bool_)
    mask[allowed] = True
    return _faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))


def _normalized(vectors: ArrayLike, shape: tuple[int, int]) -> Vectors:
    """Normalize vectors to length 1; a zero vector is left as it is.

    Raises:
        VectorInvalid: they have another shape, or contain NaN or infinity.
    """
    rows: NDArray[Any] = np.asarray(vectors, np.float32)
    if rows.shape != shape:
        raise VectorInvalid(f"vectors must have the shape {shape}, not {rows.shape}")
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if not np.isfinite(lengths).all():
        bad = int(np.flatnonzero(~np.isfinite(lengths))[0])
        raise VectorInvalid(f"vector {bad} of {len(rows)} contains NaN or infinity; its embedder is at fault")
    lengths[lengths == 0] = 1
    return np.ascontiguousarray(rows / lengths[:, None], np.float32)


_adding = Lock()
_guarded: "WeakSet[GrowingIndex]" = WeakSet()
_held: "list[GrowingIndex]" = []


def _hold() -> None:
    """Let a fork wait for the indexes: locks that other threads held would never be released in the forked process."""
    _adding.acquire()
    for index in list(_guarded):
        index.lock.acquire()
        _held.append(index)


def _release() -> None:
    while _held:
        _held.pop().lock.release()
    _adding.release()


@atexit.register
def _keep_threads_out() -> None:
    """Let no other thread be inside faiss when the process ends: Python would end it there, and that aborts the process."""
    for index in list(_guarded):
        index.lock.acquire(timeout=_PATIENCE)


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)
