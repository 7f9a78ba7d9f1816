"""One space of a store in memory: the index of its vectors, kept up with the rows."""

import sqlite3
from collections.abc import Callable, Sequence
from threading import RLock, Thread
from typing import NamedTuple, TypeVar

import numpy as np

from crewgraph.checkpoints.database import Database
from crewgraph.stores.index_copy import IndexCopy, Mark
from crewgraph.stores.namespace import Namespace
from crewgraph.stores.one_state import OneState
from crewgraph.stores.tables import TABLES
from crewgraph.stores.vectors import (
    Change,
    Ids,
    Row,
    changes,
    entries_of,
    entry_at,
    ids_at,
    ids_in,
    page,
    parts_of,
    those_of,
)
from crewgraph.stores.views import Views
from crewgraph.vectors.index import GrowingIndex

__all__ = ["SearchSpace"]

_PAGE = 4096  # vectors that are read in one transaction
_MOST = 0.5  # of all vectors: a namespace that holds more is searched by looking among all
_STALE = 4096  # entries that went before the views are made anew

_State = tuple[int, int]
_T = TypeVar("_T")


class _News(NamedTuple):
    state: _State
    log: int
    changes: list[Change] | None
    late: list[Row]
    new: list[Row]


class SearchSpace:
    """The vectors of one space, for one process. Whatever process wrote them, `catch_up` brings them here."""

    def __init__(self, database: Database, no: int, dims: int) -> None:
        self.no = no
        self.dims = dims
        self.checked = 0
        """Every entry up to this one has what it needs here."""
        self._database = database
        self._copy = IndexCopy(database, no)
        self._lock = RLock()
        self._settled: _State | None = None
        self._saving: Thread | None = None
        self._empty()
        if kept := self._copy.load(dims):
            self._index, (self._last, self._log, self.checked) = kept
            self._count(self._index.ids)

    def _empty(self) -> None:
        self._index = GrowingIndex(self.dims)
        self._views = Views()
        self._several: dict[int, int] = {}  # entries with more than one vector
        self._gone = 0
        self._last, self._log = -1, -1  # the last vector and the last row of the log that were read
        self._seen: _State | None = None

    def is_current(self) -> bool:
        """Whether nothing was written since this space was last `settled`."""
        return self._settled is not None and self._settled == self.state()

    def is_caught_up(self) -> bool:
        """Whether nothing was written since this space last caught up."""
        return self._seen == self.state()

    def settled(self, state: _State) -> None:
        """Note that all that had been written in a state is here."""
        self._settled = state

    def state(self) -> _State:
        """What is different as soon as anyone has written."""
        return self._database.glance(_state)

    def nearest(self, query: Sequence[float], k: int, allowed: Ids | None) -> list[tuple[int, float]]:
        """The vectors nearest to a query: their entries and scores, the best first."""
        if not len(self._index) or allowed is not None and not len(allowed):
            return []
        ids, scores = self._index.search(np.asarray(query, np.float32), k, allowed)
        return list(zip(entries_of(ids).tolist(), scores.tolist(), strict=True))

    def within(self, prefix: Namespace, database: "Database | OneState") -> tuple[Ids | None, float]:
        """The vectors below a namespace, None if it is best to look among all; and what part of all these are."""
        if not prefix:
            return None, 1.0
        with self._lock:
            ids = database.read(self._views.of, prefix, self._several)
        part = len(ids) / max(len(self._index), 1)
        return (None if part > _MOST else ids), part

    def ids_of(self, entries: Sequence[int]) -> Ids:
        """The vectors of some entries."""
        with self._lock:
            return ids_in(np.asarray(entries, np.int64), self._several)

    def catch_up(self) -> None:
        """Learn what was written since."""
        with self._lock:
            self._catch_up(self._database)

    def in_one_state(self, work: Callable[[OneState], _T]) -> _T:
        """Learn what was written since, and read something before anyone writes more."""
        with self._lock:
            return self._database.read(self._steady, work)

    def _steady(self, connection: sqlite3.Connection, work: Callable[[OneState], _T]) -> _T:
        state = OneState(connection)
        self._catch_up(state)
        return work(state)

    def _catch_up(self, database: "Database | OneState") -> None:
        while True:
            news = database.read(self._news)
            if news is None:
                break
            if news.changes is None:
                self._index.close()
                self._empty()
                continue
            self._learn(news)
            if len(news.new) < _PAGE:
                self._seen = news.state
                break

    def close(self) -> None:
        """Keep a copy of the index, if that saves time, and end what is done in the background."""
        if self._saving is not None:
            self._saving.join()
        if self._copy.is_old(self._index):
            self._save()
        self._index.close()

    def _save(self) -> None:
        with self._lock:
            index, mark = self._index, Mark(self._last, self._log, self.checked)
        self._copy.save(index, mark)  # what the index learns meanwhile it will learn again, which changes nothing

    def _news(self, connection: sqlite3.Connection) -> _News | None:
        state = _state(connection)
        if state == self._seen:
            return None
        if self._log < 0:
            self._log = changes(connection, 0)[0]
        log, changed = changes(connection, self._log)
        before = entry_at(self._last)
        late = [entry for space, entry in changed or () if space == self.no and entry <= before]
        news = _News(
            state, log, changed, those_of(connection, self.no, late), page(connection, self.no, self._last, _PAGE)
        )
        for rows in (news.late, news.new):
            self._views.add(connection, zip(_ids(rows).tolist(), (row[1] for row in rows), strict=True))
        return news

    def _learn(self, news: _News) -> None:
        gone = [entry for space, entry in news.changes or () if not space]
        if gone:
            self._index.remove(ids_in(np.asarray(gone, np.int64), self._several))
            for entry in gone:
                self._several.pop(entry, None)
            self._gone += len(gone)
        if self._gone > _STALE + len(self._index) // 4:
            self._gone = 0
            self._views.clear()
        for rows in (news.late, news.new):
            self._add(rows)
        if news.new:
            self._last = news.new[-1][0]
        self._log = news.log
        worth = self._copy.grew(len(gone) + len(news.late) + len(news.new), self._index)
        if worth and not (self._saving and self._saving.is_alive()):
            self._saving = Thread(target=self._save, name="crewgraph-index-copy", daemon=True)
            self._saving.start()

    def _add(self, rows: list[Row]) -> None:
        if not rows:
            return
        ids = _ids(rows)
        data = b"".join(row[2] for row in rows)
        if len(data) != 4 * self.dims * len(rows):
            raise TABLES.faults.damaged(f"a vector has not {self.dims} numbers", self._database.path)
        self._index.add(ids, np.frombuffer(data, "<f4").reshape(len(rows), self.dims))
        self._count(ids)

    def _count(self, ids: Ids) -> None:
        later = ids[parts_of(ids) > 0]
        for entry, part in zip(entries_of(later).tolist(), parts_of(later).tolist(), strict=True):
            self._several[entry] = max(part + 1, self._several.get(entry, 1))


def _ids(rows: Sequence[Row]) -> Ids:
    return ids_at(np.asarray([row[0] for row in rows], np.int64))


def _state(connection: sqlite3.Connection) -> _State:
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version, connection.total_changes
