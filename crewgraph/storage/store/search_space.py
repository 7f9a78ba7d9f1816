"""One vector space of a store in memory, kept up to date with the rows of the database, from which it is rebuilt."""

import math
import sqlite3
from collections.abc import Sequence
from threading import RLock

import numpy as np
from langgraph.store.base import SearchOp

from crewgraph.storage.store.entries import StoredEntry, load_matching, matching_ids
from crewgraph.storage.store.schema import STORE_SCHEMA, Namespace, entries_below
from crewgraph.storage.store.vectors import (
    VectorRow,
    entry_ids,
    entry_of_position,
    ids_of_entries,
    index_ids,
    part_numbers,
    read_changes,
    vectors_after,
    vectors_of,
)
from crewgraph.storage.vectors.index import GrowingIndex, Ids

_PAGE = 4096  # vectors that are added at once
_MAX_FILTERED_SHARE = 0.5  # of all vectors: a namespace that holds more is searched by looking among all
_MAX_NAMESPACES = 4096  # whose ids are kept until the next write
_WIDENING = 4  # times more vectors are looked at when too few of them pass
_MAX_WIDENED = 2_000  # vectors: beyond that, filtering entries first is faster


class SearchSpace:
    """The vectors of one space, for one process. Every method with a connection runs within a transaction of its caller.

    Args:
        path: the path of the database, for errors.
        no: the number of the space.
        dims: the dimensions of its vectors.
    """

    def __init__(self, path: str, no: int, dims: int) -> None:
        self.no = no
        self.dims = dims
        self.checked = 0
        """Every entry up to this id has its vectors in the database."""
        self._path = path
        self._lock = RLock()
        self._reset()

    def _reset(self) -> None:
        self._index = GrowingIndex(self.dims)
        self._ids_by_namespace: dict[Namespace, Ids] = {}
        self._part_counts: dict[int, int] = {}  # entries with more than one vector
        self._last, self._log = -1, -1  # the last vector and the last row of the log that were read

    def search(
        self, connection: sqlite3.Connection, op: SearchOp, query: Sequence[float], since: float
    ) -> list[tuple[StoredEntry, float]]:
        """The matching entries with their scores, best first; an entry's score is that of its best vector.

        Args:
            connection: a connection in a transaction, whose state of the database is searched.
            op: the search.
            query: its vector.
            since: entries that expire before this time are left out.
        """
        needed = op.offset + op.limit
        with self._lock:
            self._catch_up(connection)
            allowed, part = self._candidates(op.namespace_prefix, connection)
            k = math.ceil(needed / part) if allowed is None else needed
            narrowed = False
            while True:
                ids, scores = self._index.search(query, k, allowed)
                best: dict[int, float] = {}
                for entry, score in zip(entry_ids(ids).tolist(), scores.tolist(), strict=True):
                    best.setdefault(entry, score)
                entries = load_matching(connection, best, op, since)
                if len(entries) >= needed or len(ids) < k:
                    return [(entries[id], score) for id, score in best.items() if id in entries][op.offset : needed]
                k *= _WIDENING
                if k > _MAX_WIDENED and not narrowed:
                    allowed, narrowed = self._ids_of(matching_ids(connection, op, since)), True
                    k = needed

    def _candidates(self, prefix: Namespace, connection: sqlite3.Connection) -> tuple[Ids | None, float]:
        """The vectors below a namespace and their share of all; None for the vectors if searching all of them is faster."""
        if not prefix or not len(self._index):
            return None, 1.0
        ids = self._ids_by_namespace.get(prefix)
        if ids is None:
            if len(self._ids_by_namespace) == _MAX_NAMESPACES:
                self._ids_by_namespace.clear()
            ids = self._ids_by_namespace[prefix] = self._ids_of(entries_below(connection, prefix))
        part = len(ids) / len(self._index)
        return (None if part > _MAX_FILTERED_SHARE else ids), part

    def _ids_of(self, entries: Sequence[int]) -> Ids:
        return ids_of_entries(np.asarray(entries, np.int64), self._part_counts)

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Load what was written since the last call, by any process."""
        log, changes = read_changes(connection, self._log)
        if changes is None:
            self._reset()
            changes = []
        if removed := [entry for space, entry in changes if not space]:
            self._index.remove(self._ids_of(removed))
            for entry in removed:
                self._part_counts.pop(entry, None)
        before = entry_of_position(self._last)
        late = [entry for space, entry in changes if space == self.no and entry <= before]
        has_new = self._add(vectors_of(connection, self.no, late))
        rows = vectors_after(connection, self.no, self._last)
        while page := rows.fetchmany(_PAGE):
            has_new = self._add(page)
            self._last = page[-1][0]
        self._log = log
        if changes or has_new:
            self._ids_by_namespace.clear()
            self._index.fit()

    def _add(self, rows: list[VectorRow]) -> bool:
        if not rows:
            return False
        ids = index_ids(np.asarray([row[0] for row in rows], np.int64))
        data = b"".join(row[2] for row in rows)
        if len(data) != 4 * self.dims * len(rows):
            raise STORE_SCHEMA.errors.damaged(f"a vector does not have {self.dims} numbers", self._path)
        self._index.add(ids, np.frombuffer(data, "<f4").reshape(len(rows), self.dims))
        later = ids[part_numbers(ids) > 0]
        for entry, part in zip(entry_ids(later).tolist(), part_numbers(later).tolist(), strict=True):
            self._part_counts[entry] = max(part + 1, self._part_counts.get(entry, 1))
        return True
