"""Vectors in lists, each around a centre; a search looks into the lists whose centres are nearest. Only here is faiss used.

Of faiss's kinds of index this one can really remove, is built quickly, holds each vector once and its id, and does not mind
vectors that stand in clusters. A search of one query runs on the thread that asks: threads cost more than they bring.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from crewgraph.vectors.arrays import Ids, Scores, Vectors, best
from crewgraph.vectors.forks import OverForks

__all__ = ["Lists", "nearest"]

_faiss: Any = faiss  # much of it is put together while it is imported, and its types do not say so

_FEW = 512  # so many ids are always compared one by one
_together = Lock()  # faiss multiplies many rows with BLAS, whose own locks a forked process would find closed
_over_forks = OverForks(_together, inner=True)
_LARGEST_BITMAP = 1 << 28  # the greatest id of which sets of ids are held as bits


@contextmanager
def _one_thread() -> Generator[None]:
    """The number is each thread's own, and what its owner set is put back."""
    before = _faiss.omp_get_max_threads()
    _faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        _faiss.omp_set_num_threads(before)


def nearest(centres: Vectors, rows: Vectors) -> NDArray[np.int64]:
    """The number of the nearest centre of each row."""
    quantizer: Any = _faiss.IndexFlatIP(centres.shape[1])
    quantizer.add(centres)
    with _together, _one_thread():
        return quantizer.search(rows, 1)[1][:, 0]


class Lists:
    """Vectors of length 1 around centres. For one thread at a time, or many that only search.

    Args:
        centres: shape (lists, dims).
        probes: how many lists a search looks into.
    """

    def __init__(self, centres: Vectors, probes: int) -> None:
        self.centres = centres
        self.dims = centres.shape[1]
        self._quantizer: Any = _faiss.IndexFlatIP(self.dims)
        self._quantizer.add(centres)
        self._index: Any = _faiss.IndexIVFFlat(self._quantizer, self.dims, len(centres), _faiss.METRIC_INNER_PRODUCT)
        self._index.is_trained = True
        self._index.set_direct_map_type(_faiss.DirectMap.Hashtable)
        self.probes = probes

    def __len__(self) -> int:
        return self._index.ntotal

    @property
    def probes(self) -> int:
        """How many lists a search looks into."""
        return self._index.nprobe

    @probes.setter
    def probes(self, probes: int) -> None:
        self._index.nprobe = min(max(probes, 1), len(self.centres))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many vectors each list has."""
        size = self._index.invlists.list_size
        return np.fromiter((size(number) for number in range(len(self.centres))), np.int64, len(self.centres))

    @property
    def ids(self) -> Ids:
        """All ids, list by list."""
        return np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in self)])

    def __iter__(self) -> Iterator[tuple[Ids, Vectors]]:
        """Ids and vectors of each list: views, which live until the next change."""
        for number in range(len(self.centres)):
            yield self._of(number)

    def _of(self, number: int) -> tuple[Ids, Vectors]:
        lists = self._index.invlists
        size = lists.list_size(number)
        if not size:
            return np.empty(0, np.int64), np.empty((0, self.dims), np.float32)
        codes = _faiss.rev_swig_ptr(lists.get_codes(number), size * self._index.code_size)
        return _faiss.rev_swig_ptr(lists.get_ids(number), size), codes.view(np.float32).reshape(size, self.dims)

    def fill(self, number: int, ids: Ids, rows: Vectors) -> None:
        """Put vectors into an empty list; once all are full, call `filled`."""
        if len(ids):
            self._index.invlists.add_entries(
                number, len(ids), _faiss.swig_ptr(ids), _faiss.swig_ptr(rows.reshape(-1).view(np.uint8))
            )

    def filled(self) -> None:
        """All lists have been filled."""
        self._index.ntotal = int(self.sizes.sum())
        self._index.set_direct_map_type(_faiss.DirectMap.NoMap)
        self._index.set_direct_map_type(_faiss.DirectMap.Hashtable)

    def assign(self, rows: Vectors) -> NDArray[np.int64]:
        """The list that each vector belongs to."""
        with _together, _one_thread():
            return self._quantizer.search(rows, 1)[1][:, 0]

    def add(self, ids: Ids, rows: Vectors, numbers: NDArray[np.int64]) -> None:
        """Add vectors, whose ids are not here, to lists."""
        if len(ids):
            with _one_thread():
                self._index.add_core(len(ids), _faiss.swig_ptr(rows), _faiss.swig_ptr(ids), _faiss.swig_ptr(numbers))

    def remove(self, ids: Ids) -> int:
        """Remove what is here of the ids; how many that were."""
        return self._index.remove_ids(_faiss.IDSelectorArray(len(ids), _faiss.swig_ptr(ids))) if len(ids) else 0

    def last(self, n: int) -> tuple[Ids, Vectors]:
        """A copy of at most n vectors of the last list that has some."""
        for number in reversed(range(len(self.centres))):
            if self._index.invlists.list_size(number):
                ids, rows = self._of(number)
                return ids[-n:].copy(), rows[-n:].copy()
        return np.empty(0, np.int64), np.empty((0, self.dims), np.float32)

    def near_in(self, number: int, queries: Vectors, k: int) -> tuple[Ids, Scores]:
        """The nearest k of each query in one list, as rows."""
        ids, rows = self._of(number)
        if not len(ids):
            return np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32)
        with _together, _one_thread():
            scores, places = _faiss.knn(queries, rows, min(k, len(ids)), metric=_faiss.METRIC_INNER_PRODUCT)
        return ids[places], scores

    def search(self, query: Vectors, k: int) -> tuple[Ids, Scores]:
        """The nearest k in the lists that are looked into; in more of them, where these have not so many."""
        found, probes, all_lists = self._found(query, k, None), self.probes, len(self.centres)
        while len(found[0]) < min(k, len(self)) and probes < all_lists:
            probes = min(4 * probes, all_lists)
            found = self._found(query, k, _faiss.SearchParametersIVF(nprobe=probes))
        return found

    def search_among(self, query: Vectors, k: int, allowed: Ids) -> tuple[Ids, Scores]:
        """The nearest k of those allowed; ids that are not here do not matter."""
        if len(allowed) <= max(_FEW, len(self) // 100):
            allowed = np.unique(allowed)
            try:
                rows = self._index.reconstruct_batch(allowed)
            except RuntimeError:  # one of them is not here
                return self._selected(query, k, allowed, len(self.centres))
            return best(allowed, np.vecdot(rows, query), k)
        lists = len(self.centres)
        # As many vectors are compared as without a choice: the fewer are allowed, the more lists are looked into.
        probes = min(lists, -(-self.probes * len(self) // len(allowed)))
        found = self._selected(query, k, allowed, probes)
        return found if len(found[0]) >= k or probes == lists else self._selected(query, k, allowed, lists)

    def _selected(self, query: Vectors, k: int, allowed: Ids, probes: int) -> tuple[Ids, Scores]:
        top = int(allowed.max())
        if top < min(_LARGEST_BITMAP, 1024 * len(allowed)):
            chosen = np.zeros(top + 1, np.bool_)
            chosen[allowed] = True
            bits = np.packbits(chosen, bitorder="little")
            selector = _faiss.IDSelectorBitmap(len(bits), _faiss.swig_ptr(bits))
        else:
            selector = _faiss.IDSelectorBatch(len(allowed), _faiss.swig_ptr(allowed))
        return self._found(query, k, _faiss.SearchParametersIVF(sel=selector, nprobe=probes))

    def _found(self, query: Vectors, k: int, parameters: Any) -> tuple[Ids, Scores]:
        k = min(k, len(self))
        if k <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        before = _faiss.omp_get_max_threads()  # as `_one_thread`, without what a context manager costs
        _faiss.omp_set_num_threads(1)
        try:
            scores, ids = self._index.search(query[None], k, params=parameters)
        finally:
            _faiss.omp_set_num_threads(before)
        kept = ids[0] >= 0
        return ids[0][kept], scores[0][kept]
