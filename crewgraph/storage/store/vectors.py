"""Vectors of entries as rows, by spaces. Every function works within a transaction of its caller."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from crewgraph.errors import StorageError

__all__ = [
    "Change",
    "Ids",
    "Lacking",
    "Row",
    "changes",
    "entries_in",
    "entries_of",
    "entry_at",
    "ids_at",
    "ids_in",
    "lacking",
    "log",
    "made_space",
    "made_whole",
    "page",
    "parts_of",
    "place",
    "place_late",
    "space_of",
    "span",
    "those_of",
]

_PART = 20  # bits: vectors of one entry
_ENTRY = 36  # bits: entries of a store, those that are gone included
_SPACES = 1 << (63 - _PART - _ENTRY)
_INDEX = (1 << (_PART + _ENTRY)) - 1
_LOGGED = 1 << 16  # rows of the log that are kept for readers who are behind
_TRIM = 1 << 10  # rows of the log between two looks at its length

_PARTS = 1 << _PART

Ids = NDArray[np.int64]
"""Ids of vectors in an index, shape (n,)."""

Row = tuple[int, int, bytes]
"""A vector: its place in its space, the number of its entry's namespace, its numbers."""

Change = tuple[int, int]
"""What the log holds: a space, or 0 for all, and an entry that is gone, or got its vectors later than entries after it."""


class Lacking(NamedTuple):
    """An entry without vectors in a space."""

    id: int
    namespace: int
    value: str
    fields: str | None

    def paths(self, default: Sequence[str]) -> Sequence[str]:
        """The paths of what is to be embedded."""
        return default if self.fields is None else json.loads(self.fields)


def span(space: int, entry: int) -> tuple[int, int]:
    """The first and the last row that an entry can have in a space."""
    first = (space << _PART + _ENTRY) + (entry << _PART)
    return first, first + _PARTS - 1


def entry_at(place: int) -> int:
    """The entry of a vector at a place."""
    return place >> _PART


def ids_at(places: Ids) -> Ids:
    """The ids in an index of vectors at some places: an entry's first vector has its id, so that ids lie close together."""
    return (places & _PARTS - 1) << _ENTRY | places >> _PART


def entries_of(ids: Ids) -> Ids:
    """The entries of the vectors in an index."""
    return ids & (1 << _ENTRY) - 1


def parts_of(ids: Ids) -> Ids:
    """Which vectors of their entries the vectors in an index are."""
    return ids >> _ENTRY


def ids_in(entries: Ids, several: Mapping[int, int]) -> Ids:
    """The ids in an index of all vectors of some entries.

    Args:
        entries: the entries.
        several: those entries that have more than one vector, and how many.
    """
    if not several:
        return entries
    chosen = entries[np.isin(entries, np.fromiter(several, np.int64, len(several)))]
    more = [(np.arange(1, several[entry], dtype=np.int64) << _ENTRY) + entry for entry in chosen.tolist()]
    return np.concatenate([entries, *more])


def space_of(connection: sqlite3.Connection, name: str, dims: int) -> int | None:
    """The number of a space; None if it is not there."""
    row = connection.execute("SELECT no FROM spaces WHERE name = ? AND dims = ?", (name, dims)).fetchone()
    return None if row is None else row[0]


def made_space(connection: sqlite3.Connection, name: str, dims: int) -> int:
    """The number of a space, which is made if it is not there.

    Raises:
        StorageError: there are too many.
    """
    no = space_of(connection, name, dims)
    if no is None:
        no = cast(int, connection.execute("SELECT coalesce(max(no), 0) + 1 FROM spaces").fetchone()[0])
        if no >= _SPACES:
            raise StorageError(
                f"The store holds vectors of {no - 1} embedders, which is as many as it can. Copy its entries to another."
            )
        connection.execute("INSERT INTO spaces (no, name, dims) VALUES (?, ?, ?)", (no, name, dims))
    return no


def place(connection: sqlite3.Connection, space: int, entry: int, namespace: int, vectors: Sequence[bytes]) -> None:
    """Write the vectors of an entry.

    Raises:
        StorageError: there are too many.
    """
    if len(vectors) > _PARTS:
        raise StorageError(f"An entry has {len(vectors)} texts to embed; {_PARTS} are the most. Split it.")
    connection.executemany(
        "INSERT INTO vectors (id, namespace, data) VALUES (?, ?, ?)",
        [(id, namespace, data) for id, data in enumerate(vectors, span(space, entry)[0])],
    )


def place_late(connection: sqlite3.Connection, space: int, entry: Lacking, vectors: Sequence[bytes]) -> None:
    """Write the vectors of an entry that lacked them, if it is still there and still lacks them."""
    bounds = span(space, entry.id)
    there = connection.execute("SELECT 1 FROM entries WHERE id = ?", (entry.id,)).fetchone()
    if there and not connection.execute("SELECT 1 FROM vectors WHERE id BETWEEN ? AND ?", bounds).fetchone():
        place(connection, space, entry.id, entry.namespace, vectors)
        log(connection, space, entry.id)


def page(connection: sqlite3.Connection, space: int, after: int, limit: int) -> list[Row]:
    """The vectors that come after one in an index, in the order of entries."""
    below, last = span(space, 0)[0] + after, span(space, (1 << _ENTRY) - 1)[1]
    return connection.execute(
        f"SELECT id & {_INDEX}, namespace, data FROM vectors WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
        (below, last, limit),
    ).fetchall()


def entries_in(connection: sqlite3.Connection) -> int:
    """How many entries there are, which is about as many as vectors in a space."""
    return connection.execute("SELECT count(*) FROM entries").fetchone()[0]


def those_of(connection: sqlite3.Connection, space: int, entries: Iterable[int]) -> list[Row]:
    """The vectors of some entries."""
    query = f"SELECT id & {_INDEX}, namespace, data FROM vectors WHERE id BETWEEN ? AND ?"
    return [row for entry in entries for row in connection.execute(query, span(space, entry))]


def log(connection: sqlite3.Connection, space: int, entry: int) -> None:
    """Note an entry that is gone (space 0) or got its vectors late."""
    no = connection.execute("INSERT INTO log (space, entry) VALUES (?, ?)", (space, entry)).lastrowid or 0
    if no % _TRIM == 0:
        connection.execute("DELETE FROM log WHERE no <= ?", (no - _LOGGED,))


def changes(connection: sqlite3.Connection, after: int) -> tuple[int, list[Change] | None]:
    """Where the log ends, and what it holds after a place; None if it does not reach back that far."""
    first, last = connection.execute("SELECT coalesce(min(no), 1), coalesce(max(no), 0) FROM log").fetchone()
    if after >= last:
        return last, []
    if after < first - 1:
        return last, None
    return last, connection.execute("SELECT space, entry FROM log WHERE no > ? ORDER BY no", (after,)).fetchall()


def lacking(connection: sqlite3.Connection, space: int, limit: int, after: int) -> list[Lacking]:
    """Entries after one that have no vectors in a space and may need some, in their order."""
    rows = connection.execute(
        "SELECT e.id, e.namespace, e.value, e.fields FROM entries AS e "
        "WHERE e.id > ?1 AND e.fields IS NOT '[]' AND NOT EXISTS ("
        f"SELECT 1 FROM vectors WHERE id BETWEEN ?2 + (e.id << {_PART}) AND ?2 + (e.id << {_PART}) + {_PARTS - 1}) "
        "ORDER BY e.id LIMIT ?3",
        (after, span(space, 0)[0], limit),
    )
    return [Lacking(*row) for row in rows]


def made_whole(connection: sqlite3.Connection, space: int, upto: int) -> None:
    """Note that every entry up to one has what it needs in a space."""
    connection.execute("UPDATE spaces SET whole = max(whole, ?) WHERE no = ?", (upto, space))
