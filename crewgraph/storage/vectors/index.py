"""Nearest-neighbour search: the `VectorIndex` protocol, and an index that adapts to its size."""

from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Protocol

from numpy.typing import ArrayLike

from crewgraph.storage.vectors.arrays import Ids, Scores, Vectors, as_ids, normalized_query, normalized_vectors
from crewgraph.storage.vectors.growth import Growth
from crewgraph.storage.vectors.index_file import load_index, save_index
from crewgraph.storage.vectors.lists import IndexParts
from crewgraph.storage.vectors.threads import BackgroundSteps, ForkGuard, ReadWriteLock, uninterrupted

__all__ = ["GrowingIndex", "VectorIndex"]


_PIECE = 2_048  # vectors that are added while searches wait


class VectorIndex(Protocol):
    """Vectors by id, compared by cosine. One thread writes at a time, any number search meanwhile.

    Ids are integers from 0. Vectors need not be normalized. A zero vector has the score 0; NaN and infinity are rejected.
    """

    @property
    def dims(self) -> int:
        """The dimensions of its vectors."""
        ...

    def __len__(self) -> int: ...

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add or replace vectors: ids int64 of shape (n,), vectors float32 of shape (n, dims).

        Raises:
            VectorInvalid: ids or vectors of another shape; nothing is added.
        """
        ...

    def remove(self, ids: ArrayLike) -> int:
        """Remove vectors by id and return how many there were; unknown ids are ignored."""
        ...

    def search(self, query: ArrayLike, k: int, allowed: ArrayLike | None = None) -> tuple[Ids, Scores]:
        """The ids and scores of the k nearest vectors, nearest first; fewer if there are no more.

        Args:
            query: shape (dims,).
            k: the number of vectors.
            allowed: restricts the search to these ids; None searches all. Unknown ids are ignored.

        Raises:
            VectorInvalid: the query has another shape.
        """
        ...

    def save(self, path: str | PathLike[str], *, generation: int = 0) -> None:
        """Write the index to a file, replacing an existing one.

        Args:
            path: the file.
            generation: a number of the caller's that `load` returns, such as the state that the index is up to date with.

        Raises:
            StorageError: it cannot be written; the old file is unchanged.
        """
        ...

    def load(self, path: str | PathLike[str]) -> int:
        """Replace the index by a saved one and return its generation.

        Raises:
            FileNotFoundError: the file does not exist.
            TornIndex: it is truncated, of another kind, or of other dimensions; the index is unchanged.
            StorageError: it cannot be read.
        """
        ...


class GrowingIndex:
    """A `VectorIndex` that is exact while small, and approximate (inverted lists) when large.

    Written vectors are searchable at once. They start in a block that is compared with every query, and are moved into lists in
    the background. The number of lists that a search probes is measured on the vectors, for a recall of at least 98 % of the ten
    nearest; searches take longer where vectors hardly form clusters.

    Writers take turns. A forked process gets a copy that it can use independently.

    Args:
        dims: the dimensions of its vectors.
        exact_up_to: up to so many vectors are compared with every query.
        buffered: so many vectors stay in the block before they are moved.
        background: whether a thread moves them; otherwise call `settle`.
    """

    def __init__(self, dims: int, *, exact_up_to: int = 5_000, buffered: int = 2_048, background: bool = True) -> None:
        self._dims = dims
        self._rw_lock = ReadWriteLock()
        self._writer = Lock()
        self._parts = IndexParts(dims)
        self._limits = exact_up_to, buffered
        self._growth = Growth(self._parts, self._writer, self._rw_lock, *self._limits)
        self._background = BackgroundSteps(
            lambda: self._growth.is_due, lambda stopped: self._growth.step(stopped), background
        )
        self._fork_guard = ForkGuard(self._writer, self._renew)

    def _renew(self) -> None:
        self._rw_lock.renew()
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
        """The number of vectors in the block that is compared with every query."""
        return len(self._parts.flat)

    @uninterrupted
    def __len__(self) -> int:
        with self._rw_lock.reading():
            return len(self._parts)

    @property
    def ids(self) -> Ids:
        """All ids, in ascending order."""
        with self._writer:
            return self._parts.ids

    def expect(self, vectors: int) -> None:
        """Announce the number of vectors to come, which avoids repeated rebuilding while they are added."""
        self._growth.expected = vectors

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """See `VectorIndex.add`."""
        new, rows = normalized_vectors(as_ids(ids), vectors, self._dims)
        for begin in range(0, len(new), _PIECE):
            self._add(new[begin : begin + _PIECE], rows[begin : begin + _PIECE])
            if len(self._parts.flat) > self._growth.crowded:
                self._background.run_until(lambda: len(self._parts.flat) <= self._growth.crowded)
        self._background.wake()

    @uninterrupted
    def _add(self, ids: Ids, rows: Vectors) -> None:
        with self._writer, self._rw_lock.writing():
            self._parts.add(ids, rows)

    @uninterrupted
    def remove(self, ids: ArrayLike) -> int:
        """See `VectorIndex.remove`."""
        deleted = as_ids(ids)
        with self._writer, self._rw_lock.writing():
            count = self._parts.remove(deleted)
        self._background.wake()
        return count

    @uninterrupted
    def search(self, query: ArrayLike, k: int, allowed: ArrayLike | None = None) -> tuple[Ids, Scores]:
        """See `VectorIndex.search`."""
        row = normalized_query(query, self._dims)
        among = None if allowed is None else as_ids(allowed)
        with self._rw_lock.reading():
            return self._parts.search(row, k, among)

    def settle(self) -> None:
        """Finish all background work now."""
        self._background.settle()

    def close(self) -> None:
        """Stop background work; the next write restarts it."""
        self._background.stop()

    def save(self, path: str | PathLike[str], *, generation: int = 0) -> None:
        """See `VectorIndex.save`. Searches continue meanwhile, writes wait."""
        with self._writer:
            save_index(Path(path), self._parts, generation)

    def load(self, path: str | PathLike[str]) -> int:
        """See `VectorIndex.load`."""
        parts = IndexParts(self._dims)
        generation = load_index(Path(path), parts)
        self.close()
        self._replace(parts)
        self._background.wake()
        return generation

    @uninterrupted
    def _replace(self, parts: IndexParts) -> None:
        with self._writer, self._rw_lock.writing():
            self._parts = parts
            self._growth = Growth(parts, self._writer, self._rw_lock, *self._limits)
