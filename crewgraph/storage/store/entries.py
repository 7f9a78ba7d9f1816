"""Entries of a store as rows. Every function works within a transaction of its caller.

Filters of values as SQL. Fields and operands are parameters always: no text of a filter becomes text of a statement.
"""

import heapq
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

from langgraph.store.base import GetOp, Item, ListNamespacesOp, SearchItem, SearchOp

from crewgraph.storage.store.plan import NewEntry
from crewgraph.storage.store.schema import Namespace, below, labels_of, matches, path_of, reach
from crewgraph.storage.store.vectors import log, span

__all__ = [
    "Condition",
    "Found",
    "condition_of",
    "found",
    "listed",
    "newest",
    "passing",
    "placed",
    "refresh",
    "swept",
    "written",
]


_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_DEPTH = 6  # objects within objects: the stack of SQLite's parser is not deep
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_TEXT = "'text'"
_NUMBERS = "'integer', 'real', 'true', 'false'"
_INTEGERS = range(-(1 << 63), 1 << 63)


class Condition(NamedTuple):
    """A condition of a WHERE clause."""

    sql: str
    parameters: tuple[Any, ...]


_TRUE = Condition("1", ())


def condition_of(filter: Mapping[str, Any] | None, column: str) -> Condition:
    """The condition that a JSON object in a column passes a filter.

    Args:
        filter: fields to values they must equal, or to operators (`$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`); an object
            of fields looks into the field, a list is compared item by item. Numbers are compared with numbers, texts with
            texts. A field that is not there is as one that is null.
        column: of the statement, ours.

    Raises:
        ValueError: an operator is unknown, or compares what has no order.
    """
    return _all(_field(column, name, wanted, _DEPTH) for name, wanted in (filter or {}).items())


def _field(json: str, name: str, wanted: Any, depth: int) -> Condition:
    if not depth:
        raise ValueError(f"A filter may hold {_DEPTH} objects within each other, this one holds more.")
    if not isinstance(name, str) or name.startswith("$"):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"Unsupported operator: `{name}` stands where the name of a field belongs.")
    if operators := _operators(wanted):
        return _all(_operation(json, name, operator, operand, depth) for operator, operand in operators.items())
    return _at(json, name, wanted, depth, exactly=False)


def _operators(wanted: Any) -> Mapping[str, Any] | None:
    if not isinstance(wanted, Mapping):
        return None
    operators = cast("Mapping[str, Any]", wanted)
    return operators if any(str(key).startswith("$") for key in operators) else None


def _operation(json: str, name: str | int, operator: str, operand: Any, depth: int) -> Condition:
    if operator == "$eq":
        return _at(json, name, operand, depth, exactly=True)
    if operator == "$ne":
        sql, parameters = _at(json, name, operand, depth, exactly=True)
        return Condition(f"NOT ({sql})", parameters)
    if operator not in _COMPARISONS:
        known = ", ".join(f"`{one}`" for one in ("$eq", "$ne", *_COMPARISONS))
        raise ValueError(f"Unsupported operator: `{operator}` of field `{name}`. There are {known}.")
    if not isinstance(operand, (str, int, float)):
        raise ValueError(f"`{operator}` of field `{name}` compares numbers or texts, not {operand!r}.")
    return _scalar(json, name, _COMPARISONS[operator], operand, depth)


def _scalar(json: str, name: str | int, comparison: str, operand: str | float, depth: int) -> Condition:
    kinds = _TEXT if isinstance(operand, str) else _NUMBERS
    if isinstance(name, str) and _PLAIN.fullmatch(name):  # twice as quick, but its paths cannot hold every name
        path = f'$."{name}"'
        sql = f"(json_extract({json}, ?) {comparison} ? AND json_type({json}, ?) IN ({kinds})) IS TRUE"
        return Condition(sql, (path, _bound(operand), path))
    j = _alias(depth)
    test = Condition(f"{j}.type IN ({kinds}) AND {j}.atom {comparison} ?", (_bound(operand),))
    return _exists(json, name, test, depth)


def _at(json: str, name: str | int, wanted: Any, depth: int, *, exactly: bool) -> Condition:
    if isinstance(wanted, (str, int, float)):
        return _scalar(json, name, "=", wanted, depth)
    if wanted is None:  # not there is as null
        present = Condition(f"{_alias(depth)}.type != 'null'", ())
        sql, parameters = _exists(json, name, present, depth)
        return Condition(f"NOT {sql}", parameters)
    return _exists(json, name, _equals(wanted, depth, exactly=exactly), depth)


def _equals(wanted: Any, depth: int, *, exactly: bool) -> Condition:
    j = _alias(depth)
    if isinstance(wanted, Mapping):
        return _object(cast("Mapping[str, Any]", wanted), depth, exactly=exactly)
    if isinstance(wanted, (list, tuple)):
        return _array(cast("Sequence[Any]", wanted), depth, exactly=exactly)
    if wanted is not None and not isinstance(wanted, (str, int, float)):
        raise ValueError(f"A filter holds what JSON can hold, not {wanted!r}.")
    kinds = _TEXT if isinstance(wanted, str) else _NUMBERS
    return Condition(f"{j}.type IN ({kinds}) AND {j}.atom = ?", (_bound(wanted),))


def _object(wanted: Mapping[str, Any], depth: int, *, exactly: bool) -> Condition:
    j = _alias(depth)
    parts = [Condition(f"{j}.type = 'object'", ())]
    if exactly:
        parts.append(Condition(f"(SELECT count(*) FROM json_each({j}.value)) = ?", (len(wanted),)))
        parts += [_exists(f"{j}.value", name, _whole(value, depth - 1), depth - 1) for name, value in wanted.items()]
    else:
        parts += [_field(f"{j}.value", name, value, depth - 1) for name, value in wanted.items()]
    return _all(parts)


def _array(wanted: Sequence[Any], depth: int, *, exactly: bool) -> Condition:
    j = _alias(depth)
    parts = [
        Condition(f"{j}.type = 'array'", ()),
        Condition(f"json_array_length({j}.value) = ?", (len(wanted),)),
    ]
    for place, value in enumerate(wanted):
        if not exactly and (operators := _operators(value)):
            parts += [_operation(f"{j}.value", place, one, operand, depth - 1) for one, operand in operators.items()]
        else:
            test = _whole(value, depth - 1, exactly=exactly)
            parts.append(_exists(f"{j}.value", place, test, depth - 1))
    return _all(parts)


def _whole(wanted: Any, depth: int, *, exactly: bool = True) -> Condition:
    """Like `_equals`, where a null must be there."""
    if depth <= 0:
        raise ValueError(f"A filter may hold {_DEPTH} objects within each other, this one holds more.")
    return (
        Condition(f"{_alias(depth)}.type = 'null'", ()) if wanted is None else _equals(wanted, depth, exactly=exactly)
    )


def _exists(json: str, name: str | int, test: Condition, depth: int) -> Condition:
    j = _alias(depth)
    sql = f"EXISTS (SELECT 1 FROM json_each({json}) AS {j} WHERE {j}.key = ? AND {test.sql})"
    return Condition(sql, (name, *test.parameters))


def _all(conditions: Iterator[Condition] | Sequence[Condition]) -> Condition:
    found = list(conditions)
    if not found:
        return _TRUE
    parameters = tuple(parameter for one in found for parameter in one.parameters)
    return Condition(f"({' AND '.join(one.sql for one in found)})", parameters)


def _alias(depth: int) -> str:
    return f"j{depth}"


def _bound(value: Any) -> Any:
    return float(value) if isinstance(value, int) and value not in _INTEGERS else value


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
