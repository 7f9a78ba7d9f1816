"""One vector space of a store in memory, kept up to date with the rows.

`SearchSpace` combines the index of all vectors and `IndexCopy` (a file next to the store that saves rebuilding the index; a
faulty one is ignored). `ReadSnapshot` runs several reads on one state of the database.
"""

import secrets
import sqlite3
import time
from collections.abc import Callable, Sequence
from glob import escape
from pathlib import Path
from threading import RLock, Thread
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from crewgraph.errors import StorageError
from crewgraph.redaction import redacted_logger
from crewgraph.storage.database import MEMORY, Database
from crewgraph.storage.store.schema import STORE_SCHEMA, Namespace, entries_below
from crewgraph.storage.store.vectors import (
    LogChange,
    VectorRow,
    entry_ids,
    entry_of_position,
    ids_of_entries,
    index_ids,
    mark_embedded,
    part_numbers,
    read_changes,
    read_page,
    vectors_of,
)
from crewgraph.storage.vectors.index import GrowingIndex, Ids

_PATIENCE = 5.0  # seconds
_MIN_SAVED = 20_000  # vectors: fewer are read from the store as quickly
_NEW_SHARE = 4  # a new copy is made when a quarter is new
_LEFTOVER_AGE = 600  # seconds after which an unfinished file is abandoned
_GENERATION_BITS = 62  # bits
_logger = redacted_logger(__name__)


class IndexPosition(NamedTuple):
    """The position up to which an index has read."""

    last: int
    """The position of the last vector."""

    log: int
    """The last row of the log."""

    embedded_at: int
    """The entry up to which all entries have their vectors."""


class IndexCopy:
    """Saves an index and loads it again. A random generation number in the store identifies the matching file."""

    def __init__(self, database: Database, space: int) -> None:
        self._database = database
        self._space = space
        self._path = None if database.path == MEMORY else Path(f"{database.path}.{space}.index")
        self._new_vectors = 0

    def load(self, dims: int) -> tuple[GrowingIndex, IndexPosition] | None:
        """The saved index and how far it had read; None if there is no usable copy."""
        if self._path is None:
            return None
        generation, *mark = self._database.query(_read_position, self._space)
        if not generation:
            return None
        index = GrowingIndex(dims)
        try:
            if index.load(self._path) != generation:
                return None
            return index, IndexPosition(*mark)
        except FileNotFoundError:
            return None
        except StorageError as error:
            _logger.warning("The index of the store `%s` is rebuilt: %s", self._database.path, error)
            return None

    def record_changes(self, changes: int, index: GrowingIndex) -> bool:
        """Count changes of an index; returns whether to save it now."""
        self._new_vectors += changes
        return self._is_worth_saving(index) and self._new_vectors > max(_MIN_SAVED, len(index) // _NEW_SHARE)

    def is_outdated(self, index: GrowingIndex) -> bool:
        """Return whether loading the copy would leave the index with much work to do."""
        return self._is_worth_saving(index) and self._new_vectors >= _MIN_SAVED // _NEW_SHARE

    def _is_worth_saving(self, index: GrowingIndex) -> bool:
        return self._path is not None and len(index) >= _MIN_SAVED

    def save(self, index: GrowingIndex, mark: IndexPosition) -> None:
        """Replace the saved copy; a failure is only logged."""
        assert self._path is not None
        generation = secrets.randbits(_GENERATION_BITS) or 1
        self._new_vectors = 0
        try:
            index.save(self._path, generation=generation)
            self._database.write(_write_position, self._space, generation, mark)
            self._remove_leftovers()
        except (OSError, StorageError) as error:
            _logger.warning("The index of the store `%s` could not be saved: %s", self._database.path, error)

    def _remove_leftovers(self) -> None:
        """Remove temporary files of killed processes."""
        assert self._path is not None
        for leftover in self._path.parent.glob(f".{escape(self._path.name)}.*"):
            if leftover.stat().st_mtime < time.time() - _LEFTOVER_AGE:
                leftover.unlink(missing_ok=True)


def _read_position(connection: sqlite3.Connection, space: int) -> tuple[int, int, int, int]:
    return connection.execute("SELECT generation, last, log, whole FROM spaces WHERE no = ?", (space,)).fetchone()


def _write_position(connection: sqlite3.Connection, space: int, generation: int, mark: IndexPosition) -> None:
    connection.execute(
        "UPDATE spaces SET generation = ?, last = ?, log = ? WHERE no = ?", (generation, mark.last, mark.log, space)
    )
    mark_embedded(connection, space, mark.embedded_at)


_P = ParamSpec("_P")
_T = TypeVar("_T")


class ReadSnapshot:
    """Reads like a `Database`, within one transaction of its caller.

    Args:
        connection: a connection in a transaction.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def read(self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run read queries."""
        return work(self._connection, *args, **kwargs)

    query = read


_PAGE = 4096  # vectors that are read in one transaction
_MAX_FILTERED_SHARE = 0.5  # of all vectors: a namespace that holds more is searched by looking among all
_MAX_NAMESPACES = 4096  # whose ids are kept until the next write

_WriteCount = tuple[int, int]


class _Updates(NamedTuple):
    state: _WriteCount
    log: int
    changes: list[LogChange] | None
    late: list[VectorRow]
    new: list[VectorRow]


class SearchSpace:
    """The vectors of one space, for one process; `catch_up` loads what any process has written."""

    def __init__(self, database: Database, no: int, dims: int) -> None:
        self.no = no
        self.dims = dims
        self.checked = 0
        """Every entry up to this id has its vectors here."""
        self._database = database
        self._copy = IndexCopy(database, no)
        self._lock = RLock()
        self._current_state: _WriteCount | None = None
        self._saving: Thread | None = None
        self._reset()
        if saved := self._copy.load(dims):
            self._index, (self._last, self._log, self.checked) = saved
            self._count_parts(self._index.ids)

    def _reset(self) -> None:
        self._index = GrowingIndex(self.dims)
        self._ids_by_namespace: dict[Namespace, Ids] = {}
        self._part_counts: dict[int, int] = {}  # entries with more than one vector
        self._last, self._log = -1, -1  # the last vector and the last row of the log that were read
        self._caught_up_state: _WriteCount | None = None

    def is_current(self) -> bool:
        """Return whether nothing was written since the last `mark_current`."""
        return self._current_state is not None and self._current_state == self.state()

    def is_caught_up(self) -> bool:
        """Return whether nothing was written since the last `catch_up`."""
        return self._caught_up_state == self.state()

    def mark_current(self, state: _WriteCount) -> None:
        """Record that everything written up to `state` is here."""
        self._current_state = state

    def state(self) -> _WriteCount:
        """A value that changes with every write to the database."""
        return self._database.query(_write_count)

    def nearest(self, query: Sequence[float], k: int, allowed: Ids | None) -> list[tuple[int, float]]:
        """The entries of the nearest vectors with their scores, best first."""
        if not len(self._index) or allowed is not None and not len(allowed):
            return []
        ids, scores = self._index.search(np.asarray(query, np.float32), k, allowed)
        return list(zip(entry_ids(ids).tolist(), scores.tolist(), strict=True))

    def candidates(self, prefix: Namespace, database: "Database | ReadSnapshot") -> tuple[Ids | None, float]:
        """The vectors below a namespace and their share of all; None for the vectors if searching all of them is faster."""
        if not prefix:
            return None, 1.0
        with self._lock:
            ids = self._ids_by_namespace.get(prefix)
            if ids is None:
                if len(self._ids_by_namespace) == _MAX_NAMESPACES:
                    self._ids_by_namespace.clear()
                ids = self._ids_by_namespace[prefix] = self.ids_of(database.read(entries_below, prefix))
        part = len(ids) / max(len(self._index), 1)
        return (None if part > _MAX_FILTERED_SHARE else ids), part

    def ids_of(self, entries: Sequence[int]) -> Ids:
        """The vectors of some entries."""
        with self._lock:
            return ids_of_entries(np.asarray(entries, np.int64), self._part_counts)

    def catch_up(self) -> None:
        """Load what was written since the last call."""
        with self._lock:
            self._catch_up(self._database)

    def in_snapshot(self, work: Callable[[ReadSnapshot], _T]) -> _T:
        """Catch up and read in one transaction, so that nothing is written in between."""
        with self._lock:
            return self._database.read(self._run_in_snapshot, work)

    def _run_in_snapshot(self, connection: sqlite3.Connection, work: Callable[[ReadSnapshot], _T]) -> _T:
        state = ReadSnapshot(connection)
        self._catch_up(state)
        return work(state)

    def _catch_up(self, database: "Database | ReadSnapshot") -> None:
        while True:
            updates = database.read(self._read_updates)
            if updates is None:
                break
            if updates.changes is None:
                self._reset()
                continue
            self._apply(updates)
            if len(updates.new) < _PAGE:
                self._caught_up_state = updates.state
                break

    def close(self) -> None:
        """Save the index if that saves time later."""
        if self._saving is not None:
            self._saving.join(_PATIENCE)  # as the process ends, it may wait for ever: the next line saves then
        if self._copy.is_outdated(self._index):
            self._save()

    def _save(self) -> None:
        with self._lock:
            index, mark = self._index, IndexPosition(self._last, self._log, self.checked)
        self._copy.save(index, mark)  # what is added meanwhile will be added again, which is harmless

    def _read_updates(self, connection: sqlite3.Connection) -> _Updates | None:
        state = _write_count(connection)
        if state == self._caught_up_state:
            return None
        if self._log < 0:
            self._log = read_changes(connection, 0)[0]
        log, changes = read_changes(connection, self._log)
        before = entry_of_position(self._last)
        late = [entry for space, entry in changes or () if space == self.no and entry <= before]
        return _Updates(
            state,
            log,
            changes,
            vectors_of(connection, self.no, late),
            read_page(connection, self.no, self._last, _PAGE),
        )

    def _apply(self, updates: _Updates) -> None:
        removed = [entry for space, entry in updates.changes or () if not space]
        if removed:
            self._index.remove(ids_of_entries(np.asarray(removed, np.int64), self._part_counts))
            for entry in removed:
                self._part_counts.pop(entry, None)
        self._ids_by_namespace.clear()
        for rows in (updates.late, updates.new):
            self._add(rows)
        if updates.new:
            self._last = updates.new[-1][0]
        self._log = updates.log
        should_save = self._copy.record_changes(len(removed) + len(updates.late) + len(updates.new), self._index)
        if should_save and not (self._saving and self._saving.is_alive()):
            self._saving = Thread(target=self._save, name="crewgraph-index-copy", daemon=True)
            self._saving.start()

    def _add(self, rows: list[VectorRow]) -> None:
        if not rows:
            return
        ids = index_ids(np.asarray([row[0] for row in rows], np.int64))
        data = b"".join(row[2] for row in rows)
        if len(data) != 4 * self.dims * len(rows):
            raise STORE_SCHEMA.errors.damaged(f"a vector does not have {self.dims} numbers", self._database.path)
        self._index.add(ids, np.frombuffer(data, "<f4").reshape(len(rows), self.dims))
        self._count_parts(ids)

    def _count_parts(self, ids: Ids) -> None:
        later = ids[part_numbers(ids) > 0]
        for entry, part in zip(entry_ids(later).tolist(), part_numbers(later).tolist(), strict=True):
            self._part_counts[entry] = max(part + 1, self._part_counts.get(entry, 1))


def _write_count(connection: sqlite3.Connection) -> _WriteCount:
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version, connection.total_changes
