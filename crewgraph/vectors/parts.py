"""Where an index's vectors are: a block that is searched whole, and lists that are not."""

from collections.abc import Iterator

import numpy as np

from crewgraph.vectors.arrays import Ids, Scores, Vectors, merged
from crewgraph.vectors.flat import Flat
from crewgraph.vectors.lists import Lists

__all__ = ["Parts"]


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
