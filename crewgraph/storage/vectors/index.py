"""The nearest vectors to a query: what indexes do, and the one that chooses by itself how."""

from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Protocol

from numpy.typing import ArrayLike

from crewgraph.storage.vectors.arrays import Ids, Scores, ids_of, unit, units_of
from crewgraph.storage.vectors.growth import Growth
from crewgraph.storage.vectors.index_file import load, save
from crewgraph.storage.vectors.lists import Parts
from crewgraph.storage.vectors.threads import Background, OverForks, Turns

__all__ = ["GrowingIndex", "VectorIndex"]


_PIECE = 2_048  # vectors that are added while searches wait


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

    What is written can be found at once. Vectors wait in a block that is compared with every query, and from there are
    moved into lists in the background, a few at a time. How many lists a search looks into is measured on the vectors, so that it
    finds at least 98 of 100 of the ten nearest of them; where vectors have little order, searches take longer.

    Several threads may write, too; they take turns. A forked process has a copy, in which it goes on.

    Args:
        dims: the dimensions of its vectors.
        exact_up_to: so many vectors are all compared with every query.
        buffered: so many vectors wait before they are moved.
        background: whether a thread moves them; else `settle` does.
    """

    def __init__(self, dims: int, *, exact_up_to: int = 5_000, buffered: int = 2_048, background: bool = True) -> None:
        self._dims = dims
        self._turns = Turns()
        self._writer = Lock()
        self._parts = Parts(dims)
        self._limits = exact_up_to, buffered
        self._growth = Growth(self._parts, self._writer, self._turns, *self._limits)
        self._background = Background(
            lambda: self._growth.is_due, lambda stopped: self._growth.step(stopped), background
        )
        self._over_forks = OverForks(self._writer, self._renew)

    def _renew(self) -> None:
        self._turns.renew()
        self._background.renew()
        self._parts.touched = None

    @property
    def dims(self) -> int:
        """The dimensions of its vectors."""
        return self._dims

    @property
    def is_exact(self) -> bool:
        """Whether every vector is compared with every query."""
        return self._parts.lists is None and self._parts.old is None

    @property
    def waiting(self) -> int:
        """How many vectors are compared with every query, be it until they are moved."""
        return len(self._parts.flat)

    def __len__(self) -> int:
        with self._turns.reading():
            return len(self._parts)

    @property
    def ids(self) -> Ids:
        """All ids, in ascending order."""
        with self._writer:
            return self._parts.ids

    def expect(self, vectors: int) -> None:
        """Say that there will be so many vectors soon, which saves moving them again and again while they are added."""
        self._growth.expected = vectors

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """As `VectorIndex.add`."""
        new, rows = units_of(ids_of(ids), vectors, self._dims)
        for begin in range(0, len(new), _PIECE):
            with self._writer, self._turns.writing():
                self._parts.add(new[begin : begin + _PIECE], rows[begin : begin + _PIECE])
            if len(self._parts.flat) > self._growth.crowded:
                self._background.hurry(lambda: len(self._parts.flat) <= self._growth.crowded)
        self._background.wake()

    def remove(self, ids: ArrayLike) -> int:
        """As `VectorIndex.remove`."""
        gone = ids_of(ids)
        with self._writer, self._turns.writing():
            found = self._parts.remove(gone)
        self._background.wake()
        return found

    def search(self, query: ArrayLike, k: int, allowed: ArrayLike | None = None) -> tuple[Ids, Scores]:
        """As `VectorIndex.search`."""
        row = unit(query, self._dims)
        among = None if allowed is None else ids_of(allowed)
        with self._turns.reading():
            return self._parts.search(row, k, among)

    def settle(self) -> None:
        """Do now what would be done in the background, and wait for what is being done."""
        self._background.settle()

    def close(self) -> None:
        """End what is being done in the background; the next write takes it up again."""
        self._background.stop()

    def save(self, path: str | PathLike[str], *, generation: int = 0) -> None:
        """As `VectorIndex.save`. Searches go on meanwhile, writes wait."""
        with self._writer:
            save(Path(path), self._parts, generation)

    def load(self, path: str | PathLike[str]) -> int:
        """As `VectorIndex.load`."""
        parts = Parts(self._dims)
        generation = load(Path(path), parts)
        self.close()
        with self._writer, self._turns.writing():
            self._parts = parts
            self._growth = Growth(parts, self._writer, self._turns, *self._limits)
        self._background.wake()
        return generation
