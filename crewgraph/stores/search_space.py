"""One space of a store in memory: the index of its vectors, kept up with the rows."""

import sqlite3
from collections.abc import Sequence
from threading import RLock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crewgraph.checkpoints.database import Database
from crewgraph.stores.namespace import Namespace, reach
from crewgraph.stores.vectors import PARTS, Change, Row, changes, entry_of, page, those_of
from crewgraph.vectors.index import GrowingIndex

__all__ = ["SearchSpace"]

_PAGE = 4096
_MOST = 0.5  # of all vectors: a namespace that holds more is searched in all of them

Ids = NDArray[np.int64]


class _News(NamedTuple):
    log: int
    changes: list[Change] | None
    late: list[Row]
    new: list[Row]


class SearchSpace:
    """The vectors of one space. Whatever process wrote them, they are here when a search begins."""

    def __init__(self, database: Database, no: int, dims: int) -> None:
        self.no = no
        self.dims = dims
        self.checked = 0
        """Every entry up to this one has what it needs here."""
        self._database = database
        self._lock = RLock()
        self._empty()

    def _empty(self) -> None:
        self._index = GrowingIndex(self.dims)
        self._several: dict[int, int] = {}  # entries with more than one vector
        self._ids: list[int] = []
        self._homes: list[int] = []
        self._views: dict[Namespace, Ids] = {}
        self._last = -1
        self._log = -1
        self._state = (-1, -1, -1)

    def nearest(self, query: Sequence[float], k: int, allowed: Ids | None) -> list[tuple[int, float]]:
        """The vectors nearest to a query: their entries and scores, the best first."""
        ids, scores = self._index.search(np.asarray(query, np.float32), k, allowed)
        return [(entry_of(id), score) for id, score in zip(ids.tolist(), scores.tolist(), strict=True)]

    def within(self, prefix: Namespace) -> Ids | None:
        """The vectors below a namespace; None if it is best to look through all."""
        if not prefix:
            return None
        with self._lock:
            view = self._views.get(prefix)
            if view is None:
                wanted = self._database.read(_below, prefix)
                homes = np.asarray(self._homes, np.int64)
                view = np.asarray(self._ids, np.int64)[np.isin(homes, wanted)]
                self._views[prefix] = view
            return None if len(view) > _MOST * len(self._ids) else view

    def catch_up(self) -> None:
        """Learn what was written since."""
        with self._lock:
            while True:
                news = self._database.read(self._news)
                if news is None:
                    return
                if news.changes is None:
                    self._empty()
                    continue
                self._learn(news)
                if len(news.new) < _PAGE:
                    return

    def _news(self, connection: sqlite3.Connection) -> _News | None:
        version: int = connection.execute("PRAGMA data_version").fetchone()[0]
        state = (self._database.opened, version, connection.total_changes)
        if state == self._state:
            return None
        if self._log < 0:
            self._log = changes(connection, 0)[0]
        log, changed = changes(connection, self._log)
        entries = [entry for space, entry in changed or () if space == self.no and entry <= entry_of(self._last)]
        new = page(connection, self.no, self._last, _PAGE)
        if len(new) < _PAGE:
            self._state = state
        return _News(log, changed, those_of(connection, self.no, entries), new)

    def _learn(self, news: _News) -> None:
        gone = [entry for space, entry in news.changes or () if space in (0, self.no)]
        if gone:
            ids = [entry * PARTS + part for entry in gone for part in range(self._several.pop(entry, 1))]
            self._index.remove(np.asarray(ids, np.int64))
        for rows in (news.late, news.new):
            self._add(rows)
        if gone or news.late or news.new:
            self._views.clear()
        if news.new:
            self._last = news.new[-1][0]
        self._log = news.log

    def _add(self, rows: list[Row]) -> None:
        if not rows:
            return
        ids = [row[0] for row in rows]
        data = np.frombuffer(b"".join(row[2] for row in rows), "<f4").reshape(len(rows), self.dims)
        self._index.add(np.asarray(ids, np.int64), data)
        self._ids += ids
        self._homes += [row[1] for row in rows]
        for id in ids:
            if part := id % PARTS:
                self._several[entry_of(id)] = max(part + 1, self._several.get(entry_of(id), 1))


def _below(connection: sqlite3.Connection, prefix: Namespace) -> list[int]:
    rows = connection.execute("SELECT no FROM namespaces WHERE path = ? OR path >= ? AND path < ?", reach(prefix))
    return [no for (no,) in rows]
