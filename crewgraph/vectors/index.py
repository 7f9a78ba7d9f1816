"""The nearest vectors to a query: what indexes do, and the one that chooses by itself how."""

from os import PathLike
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from crewgraph.vectors.arrays import Ids, Scores, ids_of, units, units_of
from crewgraph.vectors.flat import Flat
from crewgraph.vectors.index_file import Header, reading, written
from crewgraph.vectors.turns import Turns

__all__ = ["GrowingIndex", "VectorIndex"]


class VectorIndex(Protocol):
    """Vectors under ids, compared by cosine. One thread writes at a time, any number search meanwhile.

    Ids are whole numbers from 0 on. Vectors need not have length 1. A vector of zeros is kept and has the score 0; NaN and
    infinity are refused.
    """

    @property
    def dims(self) -> int:
        """The dimensions of its vectors."""
        ...

    def __len__(self) -> int: ...

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add vectors, float32 of shape (n, dims), or replace those of the same ids, int64 of shape (n,).

        Raises:
            VectorInvalid: ids or vectors of another form; nothing is added.
        """
        ...

    def remove(self, ids: ArrayLike) -> int:
        """Remove what is there of the ids; how many that were."""
        ...

    def search(self, query: ArrayLike, k: int, allowed: ArrayLike | None = None) -> tuple[Ids, Scores]:
        """The nearest k to a vector of shape (dims,), nearest first; fewer where there are no more.

        Args:
            query: what to look for.
            k: how many.
            allowed: ids that may be found; all where None. Ids that are not in the index do not matter.

        Raises:
            VectorInvalid: a query of another form.
        """
        ...

    def save(self, path: str | PathLike[str], *, generation: int = 0) -> None:
        """Write all of it to a file, in the place of what is there.

        Args:
            path: the file.
            generation: a number of the caller's, which `load` gives back: what the file is up to date with.

        Raises:
            StorageError: it cannot be written; the old file is as it was.
        """
        ...

    def load(self, path: str | PathLike[str]) -> int:
        """Become what was saved in a file; its generation.

        Raises:
            FileNotFoundError: there is none.
            TornIndex: it is not whole, not of this kind, or of other dimensions; the index is as it was.
            StorageError: it cannot be read.
        """
        ...


class GrowingIndex:
    """A `VectorIndex` that is exact while it is small, and looks into parts of itself when it is large.

    Args:
        dims: the dimensions of its vectors.
    """

    def __init__(self, dims: int) -> None:
        self._dims = dims
        self._turns = Turns()
        self._flat = Flat(dims)

    @property
    def dims(self) -> int:
        """The dimensions of its vectors."""
        return self._dims

    def __len__(self) -> int:
        return len(self._flat)

    @property
    def ids(self) -> Ids:
        """All ids, in ascending order."""
        with self._turns.reading():
            return np.sort(self._flat.ids)

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """As `VectorIndex.add`."""
        new, rows = units_of(ids_of(ids), vectors, self._dims)
        with self._turns.writing():
            self._flat.add(new, rows)

    def remove(self, ids: ArrayLike) -> int:
        """As `VectorIndex.remove`."""
        gone = ids_of(ids)
        with self._turns.writing():
            return self._flat.remove(gone)

    def search(self, query: ArrayLike, k: int, allowed: ArrayLike | None = None) -> tuple[Ids, Scores]:
        """As `VectorIndex.search`."""
        row = units(np.asarray(query, np.float32).reshape(1, -1), self._dims)[0]
        among = None if allowed is None else ids_of(allowed)
        with self._turns.reading():
            if among is None:
                return self._flat.search(row, k)
            return self._flat.search_among(row, k, among)

    def settle(self) -> None:
        """Wait until nothing is left to be done in the background."""

    def close(self) -> None:
        """Stop what is being done in the background; the index can go on being used."""

    def save(self, path: str | PathLike[str], *, generation: int = 0) -> None:
        """As `VectorIndex.save`."""
        with self._turns.reading():
            header = Header(dims=self._dims, generation=generation, flat=len(self._flat))
            written(Path(path), header, [self._flat.ids, self._flat.rows])

    def load(self, path: str | PathLike[str]) -> int:
        """As `VectorIndex.load`."""
        flat = Flat(self._dims)
        with reading(Path(path), self._dims) as file:
            ids, rows = file.take((file.header.flat,), np.int64), file.take((file.header.flat, self._dims), np.float32)
            file.end()
        flat.add(ids, rows)
        with self._turns.writing():
            self._flat = flat
        return file.header.generation
