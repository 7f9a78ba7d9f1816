"""The parts of an index: a flat block that is searched exhaustively, and inverted lists around centres (faiss's IVF).

Of faiss's index types IVF supports real removal, is built quickly, holds each vector and id once, and copes with clustered
vectors. A query runs on the calling thread: more threads cost more than they gain. `kmeans_centres` computes the centres, and
`Calibration` measures how many lists a search has to probe. faiss is used in this module only.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from math import ceil
from threading import Lock
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from crewgraph.storage.vectors.arrays import Ids, Scores, Vectors, merge_top_k, top_k
from crewgraph.storage.vectors.threads import ForkGuard

__all__ = ["Calibration", "FlatBlock", "IndexParts", "InvertedLists", "kmeans_centres", "nearest_centres"]


_faiss: Any = faiss  # much of it is put together while it is imported, and its types do not say so

_MAX_COMPARED = 512  # so many ids are always compared one by one
_blas_lock = Lock()  # faiss multiplies many rows with BLAS, whose own locks a forked process would find closed
_fork_guard = ForkGuard(_blas_lock, inner=True)
_LARGEST_BITMAP = 1 << 28  # the greatest id of which sets of ids are held as bits


@contextmanager
def _one_thread() -> Generator[None]:
    """Limit faiss to one thread; the setting is per thread, and the caller's is restored."""
    before = _faiss.omp_get_max_threads()
    _faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        _faiss.omp_set_num_threads(before)


def nearest_centres(centres: Vectors, rows: Vectors) -> NDArray[np.int64]:
    """The number of the nearest centre of each row."""
    quantizer = _faiss.IndexFlatIP(centres.shape[1])
    quantizer.add(centres)
    with _blas_lock, _one_thread():
        return quantizer.search(rows, 1)[1][:, 0]


class InvertedLists:
    """Normalized vectors in lists around centres. For one thread at a time, or many that only search.

    Args:
        centres: shape (lists, dims).
        probes: how many lists a search probes.
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
        """The number of lists that a search probes."""
        return self._index.nprobe

    @probes.setter
    def probes(self, probes: int) -> None:
        self._index.nprobe = min(max(probes, 1), len(self.centres))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of vectors in each list."""
        size = self._index.invlists.list_size
        return np.fromiter((size(number) for number in range(len(self.centres))), np.int64, len(self.centres))

    @property
    def ids(self) -> Ids:
        """All ids, list by list."""
        return np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in self)])

    def __iter__(self) -> Iterator[tuple[Ids, Vectors]]:
        """Ids and vectors of each list: views that are valid until the next change."""
        for number in range(len(self.centres)):
            yield self._list(number)

    def _list(self, number: int) -> tuple[Ids, Vectors]:
        lists = self._index.invlists
        size = lists.list_size(number)
        if not size:
            return np.empty(0, np.int64), np.empty((0, self.dims), np.float32)
        codes = _faiss.rev_swig_ptr(lists.get_codes(number), size * self._index.code_size)
        return _faiss.rev_swig_ptr(lists.get_ids(number), size), codes.view(np.float32).reshape(size, self.dims)

    def fill(self, number: int, ids: Ids, rows: Vectors) -> None:
        """Put vectors into an empty list; call `finish_filling` after the last one."""
        if len(ids):
            self._index.invlists.add_entries(
                number, len(ids), _faiss.swig_ptr(ids), _faiss.swig_ptr(rows.reshape(-1).view(np.uint8))
            )

    def finish_filling(self) -> None:
        """Update the index after all lists were filled."""
        self._index.ntotal = int(self.sizes.sum())
        self._index.set_direct_map_type(_faiss.DirectMap.NoMap)
        self._index.set_direct_map_type(_faiss.DirectMap.Hashtable)

    def assign(self, rows: Vectors) -> NDArray[np.int64]:
        """The number of the list that each vector belongs to."""
        with _blas_lock, _one_thread():
            return self._quantizer.search(rows, 1)[1][:, 0]

    def add(self, ids: Ids, rows: Vectors, numbers: NDArray[np.int64]) -> None:
        """Add vectors with new ids to the given lists."""
        if len(ids):
            with _one_thread():
                self._index.add_core(len(ids), _faiss.swig_ptr(rows), _faiss.swig_ptr(ids), _faiss.swig_ptr(numbers))

    def remove(self, ids: Ids) -> int:
        """Remove vectors by id and return how many there were; unknown ids are ignored."""
        return self._index.remove_ids(_faiss.IDSelectorArray(len(ids), _faiss.swig_ptr(ids))) if len(ids) else 0

    def last(self, n: int) -> tuple[Ids, Vectors]:
        """Copy at most n vectors of the last non-empty list."""
        for number in reversed(range(len(self.centres))):
            if self._index.invlists.list_size(number):
                ids, rows = self._list(number)
                return ids[-n:].copy(), rows[-n:].copy()
        return np.empty(0, np.int64), np.empty((0, self.dims), np.float32)

    def search_list(self, number: int, queries: Vectors, k: int) -> tuple[Ids, Scores]:
        """The k nearest vectors of each query in one list, as rows."""
        ids, rows = self._list(number)
        if not len(ids):
            return np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32)
        with _blas_lock, _one_thread():
            scores, places = _faiss.knn(queries, rows, min(k, len(ids)), metric=_faiss.METRIC_INNER_PRODUCT)
        return ids[places], scores

    def search(self, query: Vectors, k: int) -> tuple[Ids, Scores]:
        """The k nearest vectors in the probed lists; more lists are probed if these hold fewer than k."""
        hits, probes, all_lists = self._search(query, k, None), self.probes, len(self.centres)
        while len(hits[0]) < min(k, len(self)) and probes < all_lists:
            probes = min(4 * probes, all_lists)
            hits = self._search(query, k, _faiss.SearchParametersIVF(nprobe=probes))
        return hits

    def search_among(self, query: Vectors, k: int, allowed: Ids) -> tuple[Ids, Scores]:
        """The k nearest of the allowed vectors; unknown ids are ignored."""
        if len(allowed) <= max(_MAX_COMPARED, len(self) // 100):
            allowed = np.unique(allowed)
            try:
                rows = self._index.reconstruct_batch(allowed)
            except RuntimeError:  # one of them is not here
                return self._search_selected(query, k, allowed, len(self.centres))
            return top_k(allowed, np.vecdot(rows, query), k)
        lists = len(self.centres)
        # As many vectors are compared as without a choice: the fewer are allowed, the more lists are looked into.
        probes = min(lists, -(-self.probes * len(self) // len(allowed)))
        hits = self._search_selected(query, k, allowed, probes)
        return hits if len(hits[0]) >= k or probes == lists else self._search_selected(query, k, allowed, lists)

    def _search_selected(self, query: Vectors, k: int, allowed: Ids, probes: int) -> tuple[Ids, Scores]:
        top = int(allowed.max())
        if top < min(_LARGEST_BITMAP, 1024 * len(allowed)):
            mask = np.zeros(top + 1, np.bool_)
            mask[allowed] = True
            bits = np.packbits(mask, bitorder="little")
            selector = _faiss.IDSelectorBitmap(len(bits), _faiss.swig_ptr(bits))
        else:
            selector = _faiss.IDSelectorBatch(len(allowed), _faiss.swig_ptr(allowed))
        return self._search(query, k, _faiss.SearchParametersIVF(sel=selector, nprobe=probes))

    def _search(self, query: Vectors, k: int, parameters: Any) -> tuple[Ids, Scores]:
        k = min(k, len(self))
        if k <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        before = _faiss.omp_get_max_threads()  # as `_one_thread`, without what a context manager costs
        _faiss.omp_set_num_threads(1)
        try:
            scores, ids = self._index.search(query[None], k, params=parameters)
        finally:
            _faiss.omp_set_num_threads(before)
        valid = ids[0] >= 0
        return ids[0][valid], scores[0][valid]


_MIN_CAPACITY = 64  # rows at first


class FlatBlock:
    """Rows in no particular order; a removed row is replaced by the last one. For one thread at a time.

    Rows are compared with `vecdot`, not `@`: a matrix product is spread over all cores, which wait for each other under load.
    """

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self._ids: Ids = np.empty(0, np.int64)
        self._rows: Vectors = np.empty((0, dims), np.float32)
        self._place: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._place)

    @property
    def ids(self) -> Ids:
        """The ids, in the order of `rows`; a view."""
        return self._ids[: len(self)]

    @property
    def rows(self) -> Vectors:
        """The vectors; a view."""
        return self._rows[: len(self)]

    def add(self, ids: Ids, rows: Vectors) -> None:
        """Add normalized vectors, replacing those with the same id. The ids must be unique."""
        place = self._place
        self._make_room(len(self) + len(ids))
        if len(ids) == 1:
            at = place.setdefault(int(ids[0]), len(place))
            self._ids[at], self._rows[at] = ids[0], rows[0]
            return
        places = np.fromiter((place.setdefault(id, len(place)) for id in ids.tolist()), np.intp, len(ids))
        self._ids[places], self._rows[places] = ids, rows

    def remove(self, ids: Ids) -> int:
        """Remove vectors by id and return how many there were; unknown ids are ignored."""
        place, count = self._place, 0
        for id in ids.tolist():
            at = place.pop(id, None)
            if at is None:
                continue
            count += 1
            last = len(place)
            if at < last:
                self._ids[at], self._rows[at] = self._ids[last], self._rows[last]
                place[int(self._ids[at])] = at
        return count

    def search(self, query: Vectors, k: int) -> tuple[Ids, Scores]:
        """The k nearest of all vectors."""
        return top_k(self.ids, np.vecdot(self.rows, query), k)

    def search_among(self, query: Vectors, k: int, allowed: Ids) -> tuple[Ids, Scores]:
        """The k nearest of the allowed vectors; unknown ids are ignored."""
        places = self._places(allowed)
        return top_k(self._ids[places], np.vecdot(self._rows[places], query), k)

    def last(self, n: int) -> tuple[Ids, Vectors]:
        """Copy the last n vectors, the cheapest ones to remove."""
        begin = max(len(self) - n, 0)
        return self.ids[begin:].copy(), self.rows[begin:].copy()

    def trim(self) -> bool:
        """Release unused capacity; returns whether there was any to speak of."""
        needed = max(len(self), _MIN_CAPACITY)
        if len(self._ids) <= 4 * needed:
            return False
        self._resize(needed)
        return True

    def _places(self, allowed: Ids) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        if len(allowed) < len(self):
            positions = {at for id in allowed.tolist() if (at := self._place.get(id)) is not None}
            return np.fromiter(positions, np.intp, len(positions))
        return np.flatnonzero(np.isin(self.ids, allowed))

    def _make_room(self, needed: int) -> None:
        room = len(self._ids)
        if needed > room:
            self._resize(max(needed, _MIN_CAPACITY, room + room // 2))

    def _resize(self, room: int) -> None:
        ids, rows = np.empty(room, np.int64), np.empty((room, self.dims), np.float32)
        ids[: len(self)], rows[: len(self)] = self.ids, self.rows
        self._ids, self._rows = ids, rows


_ROUNDS = 8
_PIECE_ROWS = 4096  # rows at a time, so that waiting threads wait briefly


def kmeans_centres(rows: Vectors, n: int, seed: int, stopped: Callable[[], bool]) -> Vectors | None:
    """The n centres of normalized vectors by spherical k-means; None if it was stopped."""
    random = np.random.default_rng(seed)
    centres = rows[np.sort(random.choice(len(rows), n, replace=False))]
    for _ in range(_ROUNDS):
        sums = np.zeros_like(centres)
        for begin in range(0, len(rows), _PIECE_ROWS):
            if stopped():
                return None
            piece = rows[begin : begin + _PIECE_ROWS]
            _add_sums(piece, nearest_centres(centres, piece), sums)
        lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        lost = lengths == 0  # nothing is near them, or what is has no direction
        sums[lost] = rows[random.choice(len(rows), int(lost.sum()))]
        lengths[lost] = 1
        centres = sums / lengths[:, None]
    return centres


def _add_sums(rows: Vectors, numbers: NDArray[np.int64], sums: Vectors) -> None:
    order = np.argsort(numbers, kind="stable")
    present, begins = np.unique(numbers[order], return_index=True)
    sums[present] += np.add.reduceat(rows[order], begins, axis=0)


_NEIGHBOURS = 10
_RECALL = 0.98  # of the nearest 10 of vectors that are in the index
_MARGIN = 1.5  # queries are mostly less like the vectors than these are like each other
_MIN_PROBES = 16


class Calibration:
    """Compares queries with all lists in turn, and records which lists hold their nearest neighbours.

    Args:
        lists: the lists to search.
        queries: vectors that are in the lists.
    """

    def __init__(self, lists: InvertedLists, queries: Vectors) -> None:
        self._lists, self._queries = lists, queries
        n = len(queries)
        self._scores: Scores = np.full((n, _NEIGHBOURS + 1), -np.inf, np.float32)
        self._search: NDArray[np.int64] = np.full((n, _NEIGHBOURS + 1), -1, np.int64)  # numbers of lists

    def add_list(self, number: int) -> None:
        """Compare the queries with one list; call it for every list."""
        ids, scores = self._lists.search_list(number, self._queries, _NEIGHBOURS + 1)
        self._merge_nearest(np.full_like(ids, number), scores)

    def _merge_nearest(self, numbers: Ids, scores: Scores) -> None:
        numbers, scores = np.hstack([self._search, numbers]), np.hstack([self._scores, scores])
        order = np.argsort(-scores, axis=1, kind="stable")[:, : _NEIGHBOURS + 1]
        self._search = np.take_along_axis(numbers, order, 1)
        self._scores = np.take_along_axis(scores, order, 1)

    @property
    def probes(self) -> int:
        """The number of nearest lists that a search has to probe for the required recall."""
        similarity = np.einsum("ij,kj->ik", self._queries, self._lists.centres)
        ranks = np.argsort(np.argsort(-similarity, axis=1, kind="stable"), axis=1)
        lists_found = self._search[:, 1:]  # the first is the vector itself
        needed = np.take_along_axis(ranks, np.maximum(lists_found, 0), 1)[lists_found >= 0]
        if not len(needed):
            return _MIN_PROBES
        return max(_MIN_PROBES, ceil(_MARGIN * (1 + int(np.sort(needed)[int(_RECALL * len(needed))]))))


class IndexParts:
    """Each vector is in one part: it is written to the flat block, and moved into lists later.

    For one thread at a time, or many that only search.
    """

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self.flat = FlatBlock(dims)
        self.lists: InvertedLists | None = None
        """The lists that vectors are moved into."""

        self.old: InvertedLists | None = None
        """Lists being replaced: their vectors are moved into the new lists, or into the block."""

        self.touched: set[int] | None = None
        """Ids written while a batch of vectors is being moved; these vectors are not moved."""

    def __len__(self) -> int:
        return len(self.flat) + sum(map(len, self.all_lists()))

    def all_lists(self) -> Iterator[InvertedLists]:
        """The lists that exist, `lists` before `old`."""
        if self.lists is not None:
            yield self.lists
        if self.old is not None:
            yield self.old

    @property
    def ids(self) -> Ids:
        """All ids, in ascending order."""
        return np.sort(np.concatenate([self.flat.ids, *(lists.ids for lists in self.all_lists())]))

    def add(self, ids: Ids, rows: Vectors) -> None:
        """Add or replace normalized vectors. The ids must be unique."""
        if self.touched is not None:
            self.touched.update(ids.tolist())
        for lists in self.all_lists():
            lists.remove(ids)
        self.flat.add(ids, rows)

    def remove(self, ids: Ids) -> int:
        """Remove vectors by id and return how many there were; unknown ids are ignored."""
        if self.touched is not None:
            self.touched.update(ids.tolist())
        return self.flat.remove(ids) + sum(lists.remove(ids) for lists in self.all_lists())

    def search(self, query: Vectors, k: int, allowed: Ids | None) -> tuple[Ids, Scores]:
        """The k nearest of all vectors, or of the allowed ones."""
        if allowed is None:
            return merge_top_k([part.search(query, k) for part in (self.flat, *self.all_lists()) if len(part)], k)
        if not len(allowed):
            return merge_top_k([], k)
        return merge_top_k(
            [part.search_among(query, k, allowed) for part in (self.flat, *self.all_lists()) if len(part)], k
        )
