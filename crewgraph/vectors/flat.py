"""Vectors in one block, each compared with every query: exact.

`vecdot` and not `@`: a product with a matrix is spread over all cores, which wait for each other where others need them.
"""

import numpy as np

from crewgraph.vectors.arrays import Ids, Scores, Vectors, best

__all__ = ["Flat"]

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
