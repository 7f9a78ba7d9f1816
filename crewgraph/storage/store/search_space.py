"""One space of a store in memory: the index of its vectors, kept up with the rows.

Which vectors lie below a namespace: sets of ids, made when first asked for and then kept up.

A copy of an index in a file beside its store. It saves time and nothing else: whatever is wrong with it, it is left out.

Several readings of a database that see the same state of it.
"""

import logging
import os
import secrets
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from glob import escape
from pathlib import Path
from threading import RLock, Thread
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from crewgraph.errors import StorageError
from crewgraph.storage.database import MEMORY, Database
from crewgraph.storage.store.schema import TABLES, Namespace, below, labels_of
from crewgraph.storage.store.vectors import (
    Change,
    Ids,
    Row,
    changes,
    entries_of,
    entry_at,
    ids_at,
    ids_in,
    made_whole,
    page,
    parts_of,
    those_of,
)
from crewgraph.storage.vectors.index import GrowingIndex

__all__ = ["IndexCopy", "Mark", "OneState", "SearchSpace", "Views"]


_KEPT = 4096  # namespaces
_ROOM = 16


class _View:
    """The ids below one namespace, in a block that grows."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._used = len(ids)

    @property
    def ids(self) -> Ids:
        return self._ids[: self._used]

    def add(self, id: int) -> None:
        if self._used == len(self._ids):
            grown = np.empty(_ROOM + 2 * self._used, np.int64)
            grown[: self._used] = self._ids
            self._ids = grown
        self._ids[self._used] = id
        self._used += 1


class Views:
    """The ids below the namespaces that were asked for last; ids that are gone may still be among them."""

    def __init__(self) -> None:
        self._views: OrderedDict[Namespace, _View] = OrderedDict()
        self._over: dict[int, list[_View]] = {}  # by the numbers of the namespaces within
        self._known = 0

    def of(self, connection: sqlite3.Connection, prefix: Namespace, several: Mapping[int, int]) -> Ids:
        """The ids below a namespace, in a transaction that sees no more than what was told to `add`.

        Args:
            connection: the store.
            prefix: the namespace.
            several: the entries with more than one vector, and how many these are.
        """
        view = self._views.get(prefix)
        if view is None:
            self._make_room(connection)
            numbers = below(connection, prefix)
            view = _View(_views_ids(connection, numbers, several))
            self._views[prefix] = view
            for no in numbers:
                self._over.setdefault(no, []).append(view)
        self._views.move_to_end(prefix)
        return view.ids

    def add(self, connection: sqlite3.Connection, rows: Iterable[tuple[int, int]]) -> None:
        """Learn of vectors: their ids, and the numbers of the namespaces they are in."""
        if not self._views:
            return
        for id, no in rows:
            if no > self._known:
                self._meet(connection, no)
            for view in self._over.get(no, ()):
                view.add(id)

    def clear(self) -> None:
        """Forget all, so that they are made anew."""
        self._views.clear()
        self._over.clear()

    def _meet(self, connection: sqlite3.Connection, upto: int) -> None:
        rows = connection.execute("SELECT no, path FROM namespaces WHERE no > ? AND no <= ?", (self._known, upto))
        for no, path in rows.fetchall():
            labels = labels_of(path)
            over = [self._views.get(labels[:length]) for length in range(len(labels) + 1)]
            self._over[no] = [view for view in over if view is not None]
        self._known = upto

    def _make_room(self, connection: sqlite3.Connection) -> None:
        if len(self._views) >= _KEPT:
            self.clear()
        if not self._views:
            self._known = connection.execute("SELECT coalesce(max(no), 0) FROM namespaces").fetchone()[0]


def _views_ids(connection: sqlite3.Connection, numbers: Iterable[int], several: Mapping[int, int]) -> Ids:
    entries: list[int] = []
    for no in numbers:
        entries += [id for (id,) in connection.execute("SELECT id FROM entries WHERE namespace = ?", (no,))]
    return ids_in(np.asarray(entries, np.int64), several)


_WORTH = 20_000  # vectors: fewer are read from the store as quickly
_SHARE = 4  # a new copy is made when a quarter is new
_LEFT = 600  # seconds after which nobody writes a file any more
_GENERATIONS = 62  # bits
_logger = logging.getLogger(__name__)


class Mark(NamedTuple):
    """How far an index has read."""

    last: int
    """The last vector."""

    log: int
    """The last row of the log."""

    whole: int
    """The entry up to which every one has what it needs."""


class IndexCopy:
    """Saves an index and reads it again. The store knows by a random number which file is of which state."""

    def __init__(self, database: Database, space: int) -> None:
        self._database = database
        self._space = space
        self._path = None if database.path == MEMORY else Path(f"{database.path}.{space}.index")
        self._new = 0
        self._waiting = 0  # vectors that in the file are still to be moved to where they are found quickly

    def load(self, dims: int) -> tuple[GrowingIndex, Mark] | None:
        """The index that was saved, and how far it had read; None if nothing of use was."""
        if self._path is None:
            return None
        generation, *mark = self._database.glance(_kept, self._space)
        if not generation:
            return None
        index = GrowingIndex(dims)
        try:
            if index.load(self._path) != generation:
                return None
            self._waiting = index.waiting
            return index, Mark(*mark)
        except FileNotFoundError:
            return None
        except StorageError as error:
            _logger.warning("The index of the store `%s` is made anew: %s", self._database.path, error)
            return None

    def grew(self, changes: int, index: GrowingIndex) -> bool:
        """Note changes of an index; whether it should be saved now."""
        self._new += changes
        return self._is_worth(index) and (self._new > max(_WORTH, len(index) // _SHARE) or self._moved(index))

    def is_old(self, index: GrowingIndex) -> bool:
        """Whether what is read from the file is made as the index is now only in a while."""
        return self._is_worth(index) and (self._new >= _WORTH // _SHARE or self._moved(index))

    def _is_worth(self, index: GrowingIndex) -> bool:
        return self._path is not None and len(index) >= _WORTH

    def _moved(self, index: GrowingIndex) -> bool:
        return index.waiting + _WORTH <= self._waiting

    def save(self, index: GrowingIndex, mark: Mark) -> None:
        """Put an index in the place of what was saved; that this fails is told in the log only."""
        assert self._path is not None
        generation = secrets.randbits(_GENERATIONS) or 1
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")  # another process may save as well
        self._new, self._waiting = 0, index.waiting
        try:
            index.save(fresh, generation=generation)
            fresh.replace(self._path)
            self._database.write(_keep, self._space, generation, mark)
            self._clear_up()
        except (OSError, StorageError) as error:
            fresh.unlink(missing_ok=True)
            _logger.warning("The index of the store `%s` is not kept: %s", self._database.path, error)

    def _clear_up(self) -> None:
        """Remove what processes that were killed have left behind."""
        assert self._path is not None
        for left in self._path.parent.glob(f"{escape(self._path.name)}.*"):
            if left.stat().st_mtime < time.time() - _LEFT:
                left.unlink(missing_ok=True)


def _kept(connection: sqlite3.Connection, space: int) -> tuple[int, int, int, int]:
    return connection.execute("SELECT generation, last, log, whole FROM spaces WHERE no = ?", (space,)).fetchone()


def _keep(connection: sqlite3.Connection, space: int, generation: int, mark: Mark) -> None:
    connection.execute(
        "UPDATE spaces SET generation = ?, last = ?, log = ? WHERE no = ?", (generation, mark.last, mark.log, space)
    )
    made_whole(connection, space, mark.whole)


_P = ParamSpec("_P")
_T = TypeVar("_T")


class OneState:
    """Reads as a `Database` does, within one transaction that its maker has begun.

    Args:
        connection: with the transaction.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def read(self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do some reading."""
        return work(self._connection, *args, **kwargs)

    glance = read


_PAGE = 4096  # vectors that are read in one transaction
_MOST = 0.5  # of all vectors: a namespace that holds more is searched by looking among all
_STALE = 4096  # entries that went before the views are made anew

_State = tuple[int, int]


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
