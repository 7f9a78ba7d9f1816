"""Background maintenance of an index.

Vectors move from the flat block into lists in small steps, and lists are rebuilt as the index grows or shrinks.
"""

import ctypes
import sys
from collections.abc import Callable
from math import sqrt
from threading import Lock

import numpy as np

from crewgraph.storage.vectors.arrays import Ids, Vectors
from crewgraph.storage.vectors.lists import Calibration, FlatBlock, IndexParts, InvertedLists, kmeans_centres
from crewgraph.storage.vectors.threads import ReadWriteLock

__all__ = ["Growth", "trim_memory"]


_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def trim_memory() -> None:
    """Return freed memory to the system where the C library would keep it; that can be as much as is in use."""
    if _trim is not None:
        _trim(0)


_MOVED_AT_ONCE = 256  # vectors at a time: searches wait that long
_SAMPLES_PER_CENTRE = 32  # training vectors per centre
_GROWTH_FACTOR = 2  # times as many vectors need new lists
_SHRINK_FACTOR = 16  # times as few vectors, too
_CROWDED_FACTOR = 8  # times the buffer size; beyond that, writers help
_CALIBRATION_QUERIES = 64
_LISTS_AT_ONCE = 8
_SEED = 20_250_101


class Growth:
    """The maintenance of an index while it is in use, in small steps.

    Args:
        parts: its vectors.
        writer: held while writing.
        turns: guards searches against writes that are half done.
        exact_up_to: up to so many vectors are compared with every query.
        buffered: so many vectors stay in the block before they are moved into lists.
    """

    def __init__(self, parts: IndexParts, writer: Lock, turns: ReadWriteLock, exact_up_to: int, buffered: int) -> None:
        self._parts, self._writer, self._rw_lock = parts, writer, turns
        self._exact_up_to, self._buffered = exact_up_to, buffered
        self.crowded = exact_up_to + _CROWDED_FACTOR * buffered
        """More vectors than this in the block make searches slow."""

        self.expected = 0
        """The number of vectors expected soon."""

        self._drains = False
        self._calibrated = 0  # with so many vectors

    @property
    def is_due(self) -> bool:
        """Whether there is something to do."""
        return self._next() is not None

    def step(self, stopped: Callable[[], bool]) -> bool:
        """Do the next task or a part of it; False if there is none or it was stopped."""
        work = self._next()
        return work is not None and not stopped() and work(stopped)

    def _next(self) -> Callable[[Callable[[], bool]], bool] | None:
        parts = self._parts
        flat, lists, total = len(parts.flat), parts.lists, len(parts)
        if lists is not None and flat > self.crowded:
            return self._move_flat
        if parts.old is not None:
            return self._move_old
        if lists is None:
            return self._make_lists if flat > self._exact_up_to and self._is_enough(flat) else None
        if total < self._exact_up_to // 2:
            return self._drop_lists
        planned = _vectors_for(len(lists.centres))
        if (
            total > _GROWTH_FACTOR * max(planned, self._exact_up_to)
            or max(total, self.expected) * _SHRINK_FACTOR < planned
        ):
            return self._make_lists
        self._drains = flat > self._buffered or self._drains and flat > 0
        if self._drains:
            return self._move_flat
        return self._calibrate if len(lists) > 2 * self._calibrated else None

    def _is_enough(self, vectors: int) -> bool:
        """Return whether there are enough vectors to compute centres for all that are expected."""
        return vectors >= min(self.expected, _SAMPLES_PER_CENTRE * _lists_for(self.expected))

    def _make_lists(self, stopped: Callable[[], bool]) -> bool:
        with self._writer:
            list_count = _lists_for(max(len(self._parts), self.expected))
            sample = self._sample(_SAMPLES_PER_CENTRE * list_count)
        centres = kmeans_centres(sample, min(list_count, len(sample)), _SEED, stopped)
        if centres is None:
            return False
        with self._writer, self._rw_lock.writing():
            parts = self._parts
            probes = 2 * parts.lists.probes if parts.lists is not None else len(centres)
            parts.old, parts.lists = parts.lists, InvertedLists(centres, probes)
            self._drains, self._calibrated = True, 0
        return True

    def _drop_lists(self, stopped: Callable[[], bool]) -> bool:
        with self._writer, self._rw_lock.writing():
            self._parts.old, self._parts.lists = self._parts.lists, None
        return True

    def _move_flat(self, stopped: Callable[[], bool]) -> bool:
        self._move(self._parts.flat)
        if not len(self._parts.flat):
            with self._writer, self._rw_lock.writing():
                trimmed = self._parts.flat.trim()
            if trimmed:
                trim_memory()
        return True

    def _move_old(self, stopped: Callable[[], bool]) -> bool:
        old = self._parts.old
        if old is not None and len(old):
            self._move(old)
        else:
            with self._writer, self._rw_lock.writing():
                self._parts.old = None
            del old
            trim_memory()
        return True

    def _move(self, source: FlatBlock | InvertedLists) -> None:
        """Move some vectors of a part to their destination; vectors written meanwhile stay where they were written."""
        parts, lists = self._parts, self._parts.lists
        with self._writer:
            ids, rows = source.last(_MOVED_AT_ONCE)
            parts.touched = set()
        numbers = np.empty(0, np.int64) if lists is None else lists.assign(rows)
        with self._writer, self._rw_lock.writing():
            touched, parts.touched = parts.touched, None
            if touched:
                untouched = ~np.isin(ids, np.fromiter(touched, np.int64, len(touched)))
                ids, rows = ids[untouched], rows[untouched]
                numbers = numbers if lists is None else numbers[untouched]
            source.remove(ids)
            if lists is None:
                parts.flat.add(ids, rows)
            else:
                lists.add(ids, rows, numbers)

    def _calibrate(self, stopped: Callable[[], bool]) -> bool:
        lists = self._parts.lists
        if lists is None:
            return False
        with self._writer:
            total, queries = len(lists), self._sample(_CALIBRATION_QUERIES)
        calibration = Calibration(lists, queries)
        numbers = range(len(lists.centres))
        for begin in range(0, len(numbers), _LISTS_AT_ONCE):
            if stopped():
                return False
            with self._writer:
                for number in numbers[begin : begin + _LISTS_AT_ONCE]:
                    calibration.add_list(number)
        lists.probes = calibration.probes
        self._calibrated = total
        return True

    def _sample(self, n: int) -> Vectors:
        """A sample of about n vectors, evenly from all parts."""
        parts: list[tuple[Ids, Vectors]] = [(self._parts.flat.ids, self._parts.flat.rows)]
        for lists in self._parts.all_lists():
            parts.extend(lists)
        share = min(1.0, n / max(len(self._parts), 1))
        random = np.random.default_rng(_SEED)
        samples = [rows[random.random(len(rows)) < share] for _, rows in parts]
        return np.concatenate(samples)


def _lists_for(vectors: int) -> int:
    return max(1, round(4 * sqrt(vectors)))


def _vectors_for(lists: int) -> int:
    return lists * lists // 16
