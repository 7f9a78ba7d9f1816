"""Nearest-neighbour search with faiss, which is used in this module only: exact while small, approximate (IVF) when large.

Of faiss's index types IVF can remove vectors; with one list it compares all of them. Searches and writes run on the calling
thread: more threads cost more than they gain.
"""

import atexit
import math
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from threading import RLock
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
_MAX_LISTS = 128
_SEARCHED_SHARE = 0.5  # of the lists: a quarter found 80 % of the nearest where vectors hardly form clusters
_GROWTH_FACTOR = 4  # times as many vectors get new lists
_SAMPLES_PER_LIST = 64
_LARGEST_BITMAP = 1 << 28  # the greatest id of which sets of ids are held as bits


class GrowingIndex:
    """Vectors by id, compared by cosine; any thread may write or search, one at a time.

    All vectors are compared while they are few. Later, half of the lists around their centres are searched: 92 to 95 % of the
    ten nearest are found where vectors hardly form clusters, nearly all where they do. `fit` makes new lists when the index has
    become four times as large, which takes longer.

    Ids are integers from 0. Vectors need not be normalized. A zero vector has the score 0; NaN and infinity are rejected. A
    forked process gets a copy that it can use independently.

    Args:
        dims: the dimensions of its vectors.
        exact_up_to: up to so many vectors are compared with every query.
    """

    def __init__(self, dims: int, *, exact_up_to: int = 5_000) -> None:
        self.dims = dims
        self._exact_up_to = exact_up_to
        self.lock = RLock()
        """Held by searches and writes, and by forks: also the locks of BLAS are open then."""

        self._listed = 0  # so many vectors were there when the lists were made
        with _adding:
            self._index = _empty(dims, 1)
            _guarded.add(self)

    @property
    def is_exact(self) -> bool:
        """Whether every vector is compared with every query."""
        return self._index.nlist == 1

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
    def fit(self) -> None:
        """Make the lists that fit the number of vectors; call it after changes."""
        with self.lock, _one_thread():
            n = self._index.ntotal
            if n > max(self._exact_up_to, _GROWTH_FACTOR * self._listed):
                self._make_lists(min(_MAX_LISTS, math.isqrt(n)))
            elif 2 * n < self._exact_up_to and self._index.nlist > 1:
                self._make_lists(1)

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
            k, lists = min(k, self._index.ntotal), self._index.nlist
            if k <= 0 or (allowed is not None and not len(allowed)):
                return np.empty(0, np.int64), np.empty(0, np.float32)
            if allowed is not None:
                return self._search(row, k, lists, _selector(allowed))
            found = self._search(row, k, math.ceil(_SEARCHED_SHARE * lists))
            return found if len(found[0]) == k else self._search(row, k, lists)

    def _remove(self, ids: Ids) -> int:
        removed = np.ascontiguousarray(ids, np.int64)
        return self._index.remove_ids(_faiss.IDSelectorArray(len(ids), _faiss.swig_ptr(removed))) if len(ids) else 0

    def _search(self, row: Vectors, k: int, lists: int, selector: Any = None) -> tuple[Ids, Scores]:
        parameters = _faiss.SearchParametersIVF(sel=selector, nprobe=lists)
        scores, ids = self._index.search(row, k, params=parameters)
        found = ids[0] >= 0
        ids, scores = ids[0][found], scores[0][found]
        order = np.lexsort((ids, -scores))  # ties are ordered by id
        return ids[order], scores[order]

    def _make_lists(self, lists: int) -> None:
        old, new = self._index, _empty(self.dims, lists)
        if lists > 1:
            ids = np.concatenate([ids for ids, _ in _lists(old)])
            sample = np.random.default_rng(0).choice(ids, min(len(ids), _SAMPLES_PER_LIST * lists), replace=False)
            new.train(old.reconstruct_batch(sample))
        for ids, rows in _lists(old):
            new.add_with_ids(rows, ids)
        self._index, self._listed = new, new.ntotal if lists > 1 else 0


@contextmanager
def _one_thread() -> Generator[None]:
    """Limit faiss to one thread; the setting is per thread, and the caller's is restored."""
    before = _faiss.omp_get_max_threads()
    _faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        _faiss.omp_set_num_threads(before)


def _empty(dims: int, lists: int) -> Any:
    quantizer = _faiss.IndexFlatIP(dims)
    index = _faiss.IndexIVFFlat(quantizer, dims, lists, _faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = 1  # it would warn at the terminal
    index.set_direct_map_type(_faiss.DirectMap.Hashtable)
    if lists == 1:
        quantizer.add(np.zeros((1, dims), np.float32))
        index.is_trained = True
    return index


def _lists(index: Any) -> Iterator[tuple[Ids, Vectors]]:
    """Ids and vectors of each list that has some: views that are valid until the next change."""
    for number in range(index.nlist):
        if size := index.invlists.list_size(number):
            codes = _faiss.rev_swig_ptr(index.invlists.get_codes(number), size * index.code_size)
            yield _faiss.rev_swig_ptr(index.invlists.get_ids(number), size), codes.view(np.float32).reshape(size, -1)


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


_adding = RLock()
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
    _adding.acquire(timeout=_PATIENCE)
    for index in list(_guarded):
        index.lock.acquire(timeout=_PATIENCE)


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)
