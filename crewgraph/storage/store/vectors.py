"""Vectors of entries as rows, by spaces. Every function runs within a transaction of its caller.

A vector's *position* is its entry and part number packed into one integer, in the order of entries. Its *id* in an index has
the entry in the low bits, so that the first vectors of entries have consecutive ids.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crewgraph.errors import StorageError
from crewgraph.storage.vectors.index import Ids

_PART_BITS = 20  # bits: vectors of one entry
_ENTRY_BITS = 36  # bits: entries of a store, those that are gone included
_MAX_SPACES = 1 << (63 - _PART_BITS - _ENTRY_BITS)
_POSITION_MASK = (1 << (_PART_BITS + _ENTRY_BITS)) - 1
_MAX_LOG_ROWS = 1 << 16  # rows of the log that are kept for readers who are behind
_TRIM_INTERVAL = 1 << 10  # rows of the log between two checks of its length

_MAX_PARTS = 1 << _PART_BITS

VectorRow = tuple[int, int, bytes]
"""A vector: its position in the space, the number of its entry's namespace, its bytes."""

LogChange = tuple[int, int]
"""A row of the log: a space, or 0 for all, and an entry that was deleted, or got its vectors after later entries."""


class UnembeddedEntry(NamedTuple):
    """An entry without vectors in a space."""

    id: int
    namespace: int
    value: str
    fields: str | None

    def paths(self, default: Sequence[str]) -> Sequence[str]:
        """The paths to embed."""
        return default if self.fields is None else json.loads(self.fields)


def row_range(space: int, entry: int) -> tuple[int, int]:
    """The first and the last row id that an entry can have in a space."""
    first = (space << _PART_BITS + _ENTRY_BITS) + (entry << _PART_BITS)
    return first, first + _MAX_PARTS - 1


def entry_of_position(place: int) -> int:
    """The entry of the vector at a position."""
    return place >> _PART_BITS


def index_ids(places: Ids) -> Ids:
    """The ids of the vectors at some positions."""
    return (places & _MAX_PARTS - 1) << _ENTRY_BITS | places >> _PART_BITS


def entry_ids(ids: Ids) -> Ids:
    """The entries of vectors in an index."""
    return ids & (1 << _ENTRY_BITS) - 1


def part_numbers(ids: Ids) -> Ids:
    """The part numbers of vectors in an index, 0 for the first of an entry."""
    return ids >> _ENTRY_BITS


def ids_of_entries(entries: Ids, part_counts: Mapping[int, int]) -> Ids:
    """The ids of all vectors of some entries.

    Args:
        entries: the entries.
        part_counts: the number of vectors of those entries that have more than one.
    """
    if not part_counts:
        return entries
    with_more_parts = entries[np.isin(entries, np.fromiter(part_counts, np.int64, len(part_counts)))]
    further_ids = [
        (np.arange(1, part_counts[entry], dtype=np.int64) << _ENTRY_BITS) + entry for entry in with_more_parts.tolist()
    ]
    return np.concatenate([entries, *further_ids])


def find_space(connection: sqlite3.Connection, name: str, dims: int) -> int | None:
    """The number of a space; None if it does not exist."""
    row = connection.execute("SELECT no FROM spaces WHERE name = ? AND dims = ?", (name, dims)).fetchone()
    return None if row is None else row[0]


def get_or_create_space(connection: sqlite3.Connection, name: str, dims: int) -> int:
    """The number of a space, which is created if necessary.

    Raises:
        StorageError: there are too many spaces.
    """
    no = find_space(connection, name, dims)
    if no is None:
        last: int = connection.execute("SELECT coalesce(max(no), 0) FROM spaces").fetchone()[0]
        no = last + 1
        if no >= _MAX_SPACES:
            raise StorageError(
                f"The store holds vectors of {no - 1} embedders, the maximum. Copy its entries to another store."
            )
        connection.execute("INSERT INTO spaces (no, name, dims) VALUES (?, ?, ?)", (no, name, dims))
    return no


def insert_vectors(
    connection: sqlite3.Connection, space: int, entry: int, namespace: int, vectors: Sequence[bytes]
) -> None:
    """Insert the vectors of an entry.

    Raises:
        StorageError: there are too many.
    """
    if len(vectors) > _MAX_PARTS:
        raise StorageError(f"An entry has {len(vectors)} texts to embed; at most {_MAX_PARTS} are possible. Split it.")
    connection.executemany(
        "INSERT INTO vectors (id, namespace, data) VALUES (?, ?, ?)",
        [(id, namespace, data) for id, data in enumerate(vectors, row_range(space, entry)[0])],
    )


def insert_missing_vectors(
    connection: sqlite3.Connection, space: int, entry: UnembeddedEntry, vectors: Sequence[bytes]
) -> None:
    """Insert the vectors of an entry, if it still exists and still lacks them."""
    bounds = row_range(space, entry.id)
    exists = connection.execute("SELECT 1 FROM entries WHERE id = ?", (entry.id,)).fetchone()
    if exists and not connection.execute("SELECT 1 FROM vectors WHERE id BETWEEN ? AND ?", bounds).fetchone():
        insert_vectors(connection, space, entry.id, entry.namespace, vectors)
        log_change(connection, space, entry.id)


def vectors_after(connection: sqlite3.Connection, space: int, position: int) -> sqlite3.Cursor:
    """The vectors after a position, in the order of entries."""
    below, last = row_range(space, 0)[0] + position, row_range(space, (1 << _ENTRY_BITS) - 1)[1]
    return connection.execute(
        f"SELECT id & {_POSITION_MASK}, namespace, data FROM vectors WHERE id > ? AND id <= ? ORDER BY id",
        (below, last),
    )


def vectors_of(connection: sqlite3.Connection, space: int, entries: Iterable[int]) -> list[VectorRow]:
    """The vectors of some entries."""
    query = f"SELECT id & {_POSITION_MASK}, namespace, data FROM vectors WHERE id BETWEEN ? AND ?"
    return [row for entry in entries for row in connection.execute(query, row_range(space, entry))]


def log_change(connection: sqlite3.Connection, space: int, entry: int) -> None:
    """Record an entry that was deleted (space 0) or got its vectors late."""
    no = connection.execute("INSERT INTO log (space, entry) VALUES (?, ?)", (space, entry)).lastrowid or 0
    if no % _TRIM_INTERVAL == 0:
        connection.execute("DELETE FROM log WHERE no <= ?", (no - _MAX_LOG_ROWS,))


def read_changes(connection: sqlite3.Connection, after: int) -> tuple[int, list[LogChange] | None]:
    """The end of the log, and the changes after a row; None if the log was trimmed past it."""
    first, last = connection.execute("SELECT coalesce(min(no), 1), coalesce(max(no), 0) FROM log").fetchone()
    if after >= last:
        return last, []
    if after < first - 1:
        return last, None
    return last, connection.execute("SELECT space, entry FROM log WHERE no > ? ORDER BY no", (after,)).fetchall()


def unembedded_entries(connection: sqlite3.Connection, space: int, limit: int, after: int) -> list[UnembeddedEntry]:
    """Entries after `after` that have no vectors in a space and may need some, in order of id."""
    rows = connection.execute(
        "SELECT e.id, e.namespace, e.value, e.fields FROM entries AS e "
        "WHERE e.id > :after AND e.fields IS NOT '[]' AND NOT EXISTS ("
        f"SELECT 1 FROM vectors WHERE id BETWEEN :first + (e.id << {_PART_BITS}) "
        f"AND :first + (e.id << {_PART_BITS}) + {_MAX_PARTS - 1}) ORDER BY e.id LIMIT :limit",
        {"after": after, "first": row_range(space, 0)[0], "limit": limit},
    )
    return [UnembeddedEntry(*row) for row in rows]


def mark_embedded(connection: sqlite3.Connection, space: int, upto: int) -> None:
    """Record that every entry up to `upto` has its vectors in a space."""
    connection.execute("UPDATE spaces SET whole = max(whole, ?) WHERE no = ?", (upto, space))
