"""Vectors in lists, each around a centre; a search looks into the lists whose centres are nearest. Only here is faiss used.

Of faiss's kinds of index this one can really remove, is built quickly, holds each vector once and its id, and does not mind
vectors that stand in clusters. A search of one query runs on the thread that asks: threads cost more than they bring.

Vectors in one block, each compared with every query: exact.

`vecdot` and not `@`: a product with a matrix is spread over all cores, which wait for each other where others need them.

Centres that vectors stand around: k-means by cosine.

How many lists a search has to look into, measured on the vectors themselves.

Where an index's vectors are: a block that is searched whole, and lists that are not.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from math import ceil
from threading import Lock
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from crewgraph.storage.vectors.arrays import Ids, Scores, Vectors, best, merged
from crewgraph.storage.vectors.threads import OverForks

__all__ = ["Calibration", "Flat", "Lists", "Parts", "centres_of", "nearest"]


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


_ROOM = 64  # rows at first


class Flat:
    """Rows in no order; one that goes leaves its place to the last. For one thread at a time."""

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
        """Add vectors of length 1; those of the same id are replaced. No id stands twice among those given."""
        place = self._place
        self._make_room(len(self) + len(ids))
        if len(ids) == 1:
            at = place.setdefault(int(ids[0]), len(place))
            self._ids[at], self._rows[at] = ids[0], rows[0]
            return
        places = np.fromiter((place.setdefault(one, len(place)) for one in ids.tolist()), np.intp, len(ids))
        self._ids[places], self._rows[places] = ids, rows

    def remove(self, ids: Ids) -> int:
        """Remove what is there of the ids; how many that were."""
        place, found = self._place, 0
        for one in ids.tolist():
            at = place.pop(one, None)
            if at is None:
                continue
            found += 1
            last = len(place)
            if at < last:
                self._ids[at], self._rows[at] = self._ids[last], self._rows[last]
                place[int(self._ids[at])] = at
        return found

    def search(self, query: Vectors, k: int) -> tuple[Ids, Scores]:
        """The nearest k of all."""
        return best(self.ids, np.vecdot(self.rows, query), k)

    def search_among(self, query: Vectors, k: int, allowed: Ids) -> tuple[Ids, Scores]:
        """The nearest k of those allowed; ids that are not here do not matter."""
        places = self._places(allowed)
        return best(self._ids[places], np.vecdot(self._rows[places], query), k)

    def last(self, n: int) -> tuple[Ids, Vectors]:
        """A copy of the last n, which are those that are cheapest to remove."""
        begin = max(len(self) - n, 0)
        return self.ids[begin:].copy(), self.rows[begin:].copy()

    def trim(self) -> bool:
        """Free room that is not needed; whether that is some."""
        needed = max(len(self), _ROOM)
        if len(self._ids) <= 4 * needed:
            return False
        self._resize(needed)
        return True

    def _places(self, allowed: Ids) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        if len(allowed) < len(self):
            found = {at for one in allowed.tolist() if (at := self._place.get(one)) is not None}
            return np.fromiter(found, np.intp, len(found))
        return np.flatnonzero(np.isin(self.ids, allowed))

    def _make_room(self, needed: int) -> None:
        room = len(self._ids)
        if needed > room:
            self._resize(max(needed, _ROOM, room + room // 2))

    def _resize(self, room: int) -> None:
        ids, rows = np.empty(room, np.int64), np.empty((room, self.dims), np.float32)
        ids[: len(self)], rows[: len(self)] = self.ids, self.rows
        self._ids, self._rows = ids, rows


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


class Parts:
    """Each vector is in one part. What is written goes into the block; from there it is moved into lists.

    For one thread at a time, or many that only search.
    """

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self.flat = Flat(dims)
        self.lists: Lists | None = None
        """Where vectors are moved to."""

        self.old: Lists | None = None
        """Lists that are given up: their vectors are moved to the new ones, or into the block."""

        self.touched: set[int] | None = None
        """The ids that are written while vectors are on the move, which are then not moved."""

    def __len__(self) -> int:
        return len(self.flat) + sum(map(len, self.each()))

    def each(self) -> Iterator[Lists]:
        """The lists that there are."""
        if self.lists is not None:
            yield self.lists
        if self.old is not None:
            yield self.old

    @property
    def ids(self) -> Ids:
        """All ids, in ascending order."""
        return np.sort(np.concatenate([self.flat.ids, *(lists.ids for lists in self.each())]))

    def add(self, ids: Ids, rows: Vectors) -> None:
        """Add or replace vectors of length 1; no id stands twice among those given."""
        if self.touched is not None:
            self.touched.update(ids.tolist())
        for lists in self.each():
            lists.remove(ids)
        self.flat.add(ids, rows)

    def remove(self, ids: Ids) -> int:
        """Remove what is there of the ids; how many that were."""
        if self.touched is not None:
            self.touched.update(ids.tolist())
        return self.flat.remove(ids) + sum(lists.remove(ids) for lists in self.each())

    def search(self, query: Vectors, k: int, allowed: Ids | None) -> tuple[Ids, Scores]:
        """The nearest k of all, or of those allowed."""
        if allowed is None:
            return merged([part.search(query, k) for part in (self.flat, *self.each()) if len(part)], k)
        if not len(allowed):
            return merged([], k)
        return merged([part.search_among(query, k, allowed) for part in (self.flat, *self.each()) if len(part)], k)
