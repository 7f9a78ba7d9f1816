"""Entries of a store as rows. Every function works within a transaction of its caller."""

import heapq
import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, cast

from langgraph.store.base import GetOp, Item, ListNamespacesOp, SearchItem, SearchOp

from crewgraph.stores.filter import condition_of
from crewgraph.stores.namespace import Namespace, below, labels_of, matches, path_of, reach
from crewgraph.stores.plan import NewEntry
from crewgraph.stores.vectors import log, span

__all__ = ["Found", "found", "listed", "newest", "passing", "placed", "refresh", "swept", "written"]

_COLUMNS = "e.id, n.path, e.key, e.value, e.created, e.updated, e.ttl IS NOT NULL"
_JOINED = f"SELECT {_COLUMNS} FROM entries AS e JOIN namespaces AS n ON n.no = e.namespace"
_ALIVE = "(e.expires IS NULL OR e.expires > ?)"
_MICROSECONDS = 1_000_000
_SECONDS = 60  # of a minute


class Found(NamedTuple):
    """An entry as it is stored."""

    id: int
    path: str
    key: str
    value: str
    created: int
    updated: int
    mortal: bool
    """Whether it has a time to live."""

    def item(self) -> Item:
        """As LangGraph gives it to whoever gets it."""
        return Item(
            value=json.loads(self.value),
            key=self.key,
            namespace=labels_of(self.path),
            created_at=_moment(self.created),
            updated_at=_moment(self.updated),
        )

    def search_item(self, score: float | None) -> SearchItem:
        """As LangGraph gives it to whoever searches."""
        return SearchItem(
            labels_of(self.path),
            self.key,
            json.loads(self.value),
            _moment(self.created),
            _moment(self.updated),
            score,
        )


def placed(connection: sqlite3.Connection, op: GetOp, since: float) -> Found | None:
    """The entry under a key, if it does not expire before a time."""
    row = connection.execute(
        f"{_JOINED} WHERE n.path = ? AND e.key = ? AND {_ALIVE}", (path_of(op.namespace), str(op.key), since)
    ).fetchone()
    return None if row is None else Found(*row)


def newest(connection: sqlite3.Connection, op: SearchOp, since: float) -> list[Found]:
    """The entries a search without a query finds, those written last first."""
    passes = condition_of(op.filter, "e.value")
    rest = f"{_ALIVE} AND {passes.sql} ORDER BY e.id DESC"
    last = op.offset + op.limit
    if not op.namespace_prefix:
        # CROSS JOIN keeps SQLite from beginning with the namespaces: read by id, nothing has to be sorted.
        query = f"SELECT {_COLUMNS} FROM entries AS e CROSS JOIN namespaces AS n ON n.no = e.namespace"
        rows = connection.execute(
            f"{query} WHERE {rest} LIMIT ? OFFSET ?", (since, *passes.parameters, op.limit, op.offset)
        )
        return [Found(*row) for row in rows]
    query = f"SELECT e.id FROM entries AS e WHERE e.namespace = ? AND {rest} LIMIT ?"
    ids: list[int] = []
    for no in below(connection, op.namespace_prefix):
        ids += (id for (id,) in connection.execute(query, (no, since, *passes.parameters, last)))
    chosen = json.dumps(heapq.nlargest(last, ids)[op.offset :])
    rows = connection.execute(f"{_JOINED} WHERE e.id IN (SELECT value FROM json_each(?)) ORDER BY e.id DESC", (chosen,))
    return [Found(*row) for row in rows]


def passing(connection: sqlite3.Connection, op: SearchOp, since: float) -> list[int]:
    """The ids of all entries that a search may find."""
    passes = condition_of(op.filter, "e.value")
    query = f"SELECT e.id FROM entries AS e WHERE e.namespace = ? AND {_ALIVE} AND {passes.sql}"
    return [
        id
        for no in below(connection, op.namespace_prefix)
        for (id,) in connection.execute(query, (no, since, *passes.parameters))
    ]


def found(connection: sqlite3.Connection, ids: Iterable[int], op: SearchOp, since: float) -> dict[int, Found]:
    """Those of some entries that a search may find, by their ids."""
    passes = condition_of(op.filter, "e.value")
    rows = connection.execute(
        f"{_JOINED} WHERE e.id IN (SELECT value FROM json_each(?)) "
        f"AND (n.path = ? OR n.path >= ? AND n.path < ?) AND {_ALIVE} AND {passes.sql}",
        (json.dumps(list(ids)), *reach(op.namespace_prefix), since, *passes.parameters),
    )
    return {row[0]: Found(*row) for row in rows}


def listed(connection: sqlite3.Connection, op: ListNamespacesOp, since: float) -> list[Namespace]:
    """The namespaces that hold an entry, sorted."""
    rows = connection.execute(
        "SELECT n.path FROM namespaces AS n "
        f"WHERE EXISTS (SELECT 1 FROM entries AS e WHERE e.namespace = n.no AND {_ALIVE})",
        (since,),
    )
    every = (labels_of(path) for (path,) in rows)
    wanted = {labels[: op.max_depth] for labels in every if matches(labels, op.match_conditions or ())}
    return sorted(wanted)[op.offset : op.offset + op.limit]


def refresh(connection: sqlite3.Connection, entries: Iterable[int], now: float) -> None:
    """Let entries live their time from now on."""
    connection.execute(
        f"UPDATE entries SET expires = ? + ttl * {_SECONDS} WHERE ttl IS NOT NULL "
        "AND id IN (SELECT value FROM json_each(?))",
        (now, json.dumps(list(entries))),
    )


def written(connection: sqlite3.Connection, new: NewEntry, now: float) -> tuple[int, int] | None:
    """Write an entry in the place of the one under its key, if there is one.

    Returns:
        Its id and the number of its namespace; None if it was removed.
    """
    row: tuple[int, int | None, int] | None = connection.execute(
        "SELECT n.no, e.id, e.created FROM namespaces AS n LEFT JOIN entries AS e ON e.namespace = n.no AND e.key = ? "
        "WHERE n.path = ?",
        (new.key, new.path),
    ).fetchone()
    namespace, old, created = row or (None, None, 0)
    if old is not None:
        _forget(connection, [old])
    if new.value is None:
        if namespace is not None and old is not None:
            _leave(connection, [namespace])
        return None
    if namespace is None:
        namespace = cast(int, connection.execute("INSERT INTO namespaces (path) VALUES (?)", (new.path,)).lastrowid)
    moment = int(now * _MICROSECONDS)
    expires = None if new.ttl is None else now + new.ttl * _SECONDS
    id = connection.execute(
        "INSERT INTO entries (namespace, key, value, fields, created, updated, ttl, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (namespace, new.key, new.value, new.fields, moment if old is None else created, moment, new.ttl, expires),
    ).lastrowid
    return cast(int, id), namespace


def swept(connection: sqlite3.Connection, now: float) -> int:
    """Remove the entries whose time is over; how many there were."""
    rows: list[tuple[int, int]] = connection.execute(
        "SELECT id, namespace FROM entries WHERE expires <= ?", (now,)
    ).fetchall()
    _forget(connection, [id for id, _ in rows])
    _leave(connection, {namespace for _, namespace in rows})
    return len(rows)


def _forget(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    spaces = [no for (no,) in connection.execute("SELECT no FROM spaces").fetchall()]
    for id in ids:
        for space in spaces:
            connection.execute("DELETE FROM vectors WHERE id BETWEEN ? AND ?", span(space, id))
        connection.execute("DELETE FROM entries WHERE id = ?", (id,))
        log(connection, 0, id)


def _leave(connection: sqlite3.Connection, namespaces: Iterable[int]) -> None:
    connection.executemany(
        "DELETE FROM namespaces WHERE no = ?1 AND NOT EXISTS (SELECT 1 FROM entries WHERE namespace = ?1)",
        [(no,) for no in namespaces],
    )


def _moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / _MICROSECONDS, UTC)
