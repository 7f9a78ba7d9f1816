"""How an index grows: vectors are moved out of the block into lists, a few at a time, and into more lists as they get many.

Memory that is free and that the system does not know of.
"""

import ctypes
import sys
from collections.abc import Callable
from math import sqrt
from threading import Lock

import numpy as np

from crewgraph.storage.vectors.arrays import Ids, Vectors
from crewgraph.storage.vectors.lists import Calibration, Flat, Lists, Parts, centres_of
from crewgraph.storage.vectors.threads import Turns

__all__ = ["Growth", "give_back"]


_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def give_back() -> None:
    """Let the system have what was freed, where the C library keeps it for later; it may be as much as is in use."""
    if _trim is not None:
        _trim(0)


_MOVED = 256  # vectors at a time: searches wait that long
_SAMPLE = 32  # vectors per centre that centres are made of
_GROWN = 2  # times as many vectors need new lists
_SHRUNK = 16  # times as few vectors, too
_CROWDED = 8  # times what is buffered; whoever writes then helps
_QUERIES = 64
_LISTS_AT_ONCE = 8
_SEED = 20_250_101


class Growth:
    """What is to be done to an index while it is used, in small steps.

    Args:
        parts: its vectors.
        writer: held by whoever writes.
        turns: for searches, and for writes that searches must not see half done.
        exact_up_to: so many vectors are compared with every query.
        buffered: so many vectors wait in the block before they are moved into lists.
    """

    def __init__(self, parts: Parts, writer: Lock, turns: Turns, exact_up_to: int, buffered: int) -> None:
        self._parts, self._writer, self._turns = parts, writer, turns
        self._exact_up_to, self._buffered = exact_up_to, buffered
        self.crowded = exact_up_to + _CROWDED * buffered
        """So many vectors in the block are too many to be compared with every query for long."""

        self.expected = 0
        """So many vectors there will be soon."""

        self._drains = False
        self._calibrated = 0  # with so many vectors

    @property
    def is_due(self) -> bool:
        """Whether there is something to be done."""
        return self._next() is not None

    def step(self, stopped: Callable[[], bool]) -> bool:
        """Do the next thing, or a part of it; False where there is none, or it was stopped."""
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
            return self._make_lists if flat > self._exact_up_to and self._suffice(flat) else None
        if total < self._exact_up_to // 2:
            return self._give_up_lists
        planned = _vectors_for(len(lists.centres))
        if total > _GROWN * max(planned, self._exact_up_to) or max(total, self.expected) * _SHRUNK < planned:
            return self._make_lists
        self._drains = flat > self._buffered or self._drains and flat > 0
        if self._drains:
            return self._move_flat
        return self._calibrate if len(lists) > 2 * self._calibrated else None

    def _suffice(self, vectors: int) -> bool:
        """Whether there are enough for centres of all that are expected."""
        return vectors >= min(self.expected, _SAMPLE * _lists_for(self.expected))

    def _make_lists(self, stopped: Callable[[], bool]) -> bool:
        with self._writer:
            wanted = _lists_for(max(len(self._parts), self.expected))
            sample = self._sample(_SAMPLE * wanted)
        centres = centres_of(sample, min(wanted, len(sample)), _SEED, stopped)
        if centres is None:
            return False
        with self._writer, self._turns.writing():
            parts = self._parts
            probes = 2 * parts.lists.probes if parts.lists is not None else len(centres)
            parts.old, parts.lists = parts.lists, Lists(centres, probes)
            self._drains, self._calibrated = True, 0
        return True

    def _give_up_lists(self, stopped: Callable[[], bool]) -> bool:
        with self._writer, self._turns.writing():
            self._parts.old, self._parts.lists = self._parts.lists, None
        return True

    def _move_flat(self, stopped: Callable[[], bool]) -> bool:
        self._move(self._parts.flat)
        if not len(self._parts.flat):
            with self._writer, self._turns.writing():
                given_back = self._parts.flat.trim()
            if given_back:
                give_back()
        return True

    def _move_old(self, stopped: Callable[[], bool]) -> bool:
        old = self._parts.old
        if old is not None and len(old):
            self._move(old)
        else:
            with self._writer, self._turns.writing():
                self._parts.old = None
            del old
            give_back()
        return True

    def _move(self, source: Flat | Lists) -> None:
        """Take some of a part's vectors where they belong; what is written meanwhile stays where it was written."""
        parts, lists = self._parts, self._parts.lists
        with self._writer:
            ids, rows = source.last(_MOVED)
            parts.touched = set()
        numbers = np.empty(0, np.int64) if lists is None else lists.assign(rows)
        with self._writer, self._turns.writing():
            touched, parts.touched = parts.touched, None
            if touched:
                kept = ~np.isin(ids, np.fromiter(touched, np.int64, len(touched)))
                ids, rows = ids[kept], rows[kept]
                numbers = numbers if lists is None else numbers[kept]
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
            total, queries = len(lists), self._sample(_QUERIES)
        calibration = Calibration(lists, queries)
        numbers = range(len(lists.centres))
        for begin in range(0, len(numbers), _LISTS_AT_ONCE):
            if stopped():
                return False
            with self._writer:
                for number in numbers[begin : begin + _LISTS_AT_ONCE]:
                    calibration.look(number)
        lists.probes = calibration.probes
        self._calibrated = total
        return True

    def _sample(self, n: int) -> Vectors:
        """Some vectors, evenly from all parts."""
        parts: list[tuple[Ids, Vectors]] = [(self._parts.flat.ids, self._parts.flat.rows)]
        for lists in self._parts.each():
            parts.extend(lists)
        share = min(1.0, n / max(len(self._parts), 1))
        random = np.random.default_rng(_SEED)
        taken = [rows[random.random(len(rows)) < share] for _, rows in parts]
        return np.concatenate(taken)


def _lists_for(vectors: int) -> int:
    return max(1, round(4 * sqrt(vectors)))


def _vectors_for(lists: int) -> int:
    return lists * lists // 16
