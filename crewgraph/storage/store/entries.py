"""The operations of a batch, validated, and the entries of a store as rows.

In a batch reads see the store as it was before, and the last put of a key wins. Functions with a connection run within a
transaction of their caller. Filters are compiled to SQL with fields and operands as parameters: no text of a filter becomes
part of a statement.
"""

import heapq
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, cast

from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from crewgraph.schema import PlainMapping, is_mapping
from crewgraph.storage.store.schema import (
    Namespace,
    matches_conditions,
    namespace_labels,
    namespaces_below,
    path_of,
    path_range,
)
from crewgraph.storage.store.vectors import log_change, row_range

WHOLE_VALUE = "$"
"""The path of a whole value."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class NewEntry(NamedTuple):
    """An entry to write."""

    path: str
    """Its namespace as text."""

    key: str

    value: str | None
    """As JSON; None deletes the key."""

    texts: Sequence[str]
    """What to embed."""

    fields: str | None
    """As in the table's column."""

    ttl: float | None
    """In minutes."""


class BatchPlan:
    """A batch of operations, sorted by what they do."""

    def __init__(self, ops: Iterable[Op], fields: Sequence[str]) -> None:
        """Validate the operations.

        Args:
            ops: the operations.
            fields: the paths to embed where a put names none.

        Raises:
            InvalidNamespaceError: a namespace has an invalid label.
            TypeError: a value cannot be encoded as JSON.
            ValueError: an operation is unknown, or has a negative limit, offset or TTL.
        """
        self.ops = list(ops)
        self.reads: list[tuple[int, GetOp | SearchOp | ListNamespacesOp]] = []
        puts: dict[tuple[str, str], PutOp] = {}
        for place, op in enumerate(self.ops):
            if not isinstance(op, (GetOp, SearchOp, PutOp, ListNamespacesOp)):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(f"Unknown operation type: {type(op)}")
            validate_op_namespace(op)
            if isinstance(op, (SearchOp, ListNamespacesOp)) and (op.limit < 0 or op.offset < 0):
                raise ValueError(f"`limit` and `offset` must be at least 0, not {op.limit} and {op.offset}.")
            if isinstance(op, PutOp) and op.ttl is not None and op.ttl < 0:
                raise ValueError(f"`ttl` must be a number of minutes, at least 0, not {op.ttl}.")
            if isinstance(op, PutOp):
                puts[path_of(op.namespace), _checked_key(op.key)] = op
            else:
                self.reads.append((place, op))
        self.puts = [_new_entry(path, key, op, fields) for (path, key), op in puts.items()]
        self.queries = list(
            dict.fromkeys(op.query for _, op in self.reads if isinstance(op, SearchOp) and op.query and op.limit)
        )


def texts_to_embed(value: Any, fields: Sequence[str]) -> list[str]:
    """The texts at some paths of a value."""
    return [
        text
        for field in fields
        for text in get_text_at_path(value, field if field == WHOLE_VALUE else tokenize_path(field))
    ]


def _checked_key(key: str) -> str:
    try:
        key.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"The key {key!r} is not valid Unicode ({error}).") from error
    return key


def _new_entry(path: str, key: str, op: PutOp, fields: Sequence[str]) -> NewEntry:
    if op.value is None:
        return NewEntry(path, key, None, (), None, None)
    text = _encode_value(op.value, path, key)
    index: Sequence[str] | Literal[False] | None = op.index
    if index is None:
        return NewEntry(path, key, text, texts_to_embed(op.value, fields), None, op.ttl)
    own_fields = list(index or ())
    return NewEntry(path, key, text, texts_to_embed(op.value, own_fields), _encode(own_fields), op.ttl)


def _encode_value(value: PlainMapping, path: str, key: str) -> str:
    try:
        text = _encode(value if isinstance(value, dict) else dict(value))
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"The value of `{key}` in `{path}` cannot be written as JSON ({error}). "
            "Store texts, numbers, booleans, None, lists and dicts with texts as keys."
        ) from error
    return text


_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
# What JSON writes as it is: SQLite's paths cannot hold other names everywhere.
_PLAIN_NAME = re.compile(r'[^"\\\x00-\x1f]*')
_INTEGERS = range(-(1 << 63), 1 << 63)


class Condition(NamedTuple):
    """A condition of a WHERE clause, which is true or false, never NULL."""

    sql: str
    parameters: tuple[Any, ...]


def filter_condition(filter: Mapping[str, object] | None, column: str) -> Condition:
    """The condition that a JSON object in a column matches a filter.

    Args:
        filter: values that fields must equal, or operators (`$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`). A nested object is
            matched field by field, a list item by item. Numbers are compared with numbers, texts with texts. A missing field
            counts as null.
        column: the column's name, from trusted code.

    Raises:
        ValueError: an operator is unknown, or compares values without an order.
    """
    return _all(_fields_match(column, "$", filter or {}))


def _fields_match(
    column: str, path: str, fields: Mapping[str, object], *, exactly: bool = False
) -> Iterator[Condition]:
    for name, expected in fields.items():
        if not isinstance(name, str) or (name.startswith("$") and not exactly):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"Unsupported operator: `{name}` is not a field name.")
        if not _PLAIN_NAME.fullmatch(name):
            raise ValueError(f"A filter cannot name the field {name!r}, with a quote, backslash or control character.")
        yield from _matches(column, f'{path}."{name}"', expected, exactly=exactly)


def _matches(column: str, path: str, expected: object, *, exactly: bool, present: bool = False) -> Iterator[Condition]:
    """Yield the conditions that the value at a path matches; `present` is whether a null must be there to match None."""
    if is_mapping(expected):
        if not exactly and any(str(key).startswith("$") for key in expected):
            for operator, operand in expected.items():
                yield _operation(column, path, operator, operand)
            return
        yield Condition(f"json_type({column}, ?) IS 'object'", (path,))
        if exactly:
            yield Condition(f"(SELECT count(*) FROM json_each({column}, ?)) = ?", (path, len(expected)))
        yield from _fields_match(column, path, expected, exactly=exactly)
    elif isinstance(expected, (list, tuple)):
        items = cast("Sequence[object]", expected)
        yield Condition(f"json_array_length({column}, ?) IS ?", (path, len(items)))
        yield Condition(f"json_type({column}, ?) IS 'array'", (path,))
        for place, item in enumerate(items):
            yield from _matches(column, f"{path}[{place}]", item, exactly=exactly, present=True)
    elif isinstance(expected, (str, int, float)):
        yield _compared(column, path, "=", expected)
    elif expected is None:
        kind = f"json_type({column}, ?)" if present or exactly else f"coalesce(json_type({column}, ?), 'null')"
        yield Condition(f"{kind} IS 'null'", (path,))
    else:
        raise ValueError(f"A filter must contain JSON values, not {expected!r}.")


def _operation(column: str, path: str, operator: str, operand: object) -> Condition:
    if operator in ("$eq", "$ne"):
        # None itself also stands for a missing field.
        equal = _all(_matches(column, path, operand, exactly=operand is not None))
        return equal if operator == "$eq" else Condition(f"NOT {equal.sql}", equal.parameters)
    field = path.removeprefix("$.").replace('"', "")
    if operator not in _COMPARISONS:
        known = ", ".join(f"`{operator_name}`" for operator_name in ("$eq", "$ne", *_COMPARISONS))
        raise ValueError(f"Unsupported operator: `{operator}` of field `{field}`. Supported: {known}.")
    if not isinstance(operand, (str, int, float)):
        raise ValueError(f"`{operator}` of field `{field}` compares numbers or texts, not {operand!r}.")
    return _compared(column, path, _COMPARISONS[operator], operand)


def _compared(column: str, path: str, comparison: str, operand: str | float) -> Condition:
    kinds = "'text'" if isinstance(operand, str) else "'integer', 'real', 'true', 'false'"
    value = float(operand) if isinstance(operand, int) and operand not in _INTEGERS else operand
    sql = f"(json_extract({column}, ?) {comparison} ? AND json_type({column}, ?) IN ({kinds})) IS TRUE"
    return Condition(sql, (path, value, path))


def _all(conditions: Iterable[Condition]) -> Condition:
    items = list(conditions)
    if not items:
        return Condition("1", ())
    parameters = tuple(parameter for condition in items for parameter in condition.parameters)
    return Condition(f"({' AND '.join(condition.sql for condition in items)})", parameters)


_COLUMNS = "e.id, n.path, e.key, e.value, e.created, e.updated, e.ttl IS NOT NULL"
_SELECT_JOINED = f"SELECT {_COLUMNS} FROM entries AS e JOIN namespaces AS n ON n.no = e.namespace"
_NOT_EXPIRED = "(e.expires IS NULL OR e.expires > ?)"
_MICROSECONDS = 1_000_000
_SECONDS_PER_MINUTE = 60  # of a minute


class StoredEntry(NamedTuple):
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
        """LangGraph's item for `get`."""
        return Item(
            value=json.loads(self.value),
            key=self.key,
            namespace=namespace_labels(self.path),
            created_at=_datetime(self.created),
            updated_at=_datetime(self.updated),
        )

    def search_item(self, score: float | None) -> SearchItem:
        """LangGraph's item for `search`."""
        return SearchItem(
            namespace_labels(self.path),
            self.key,
            json.loads(self.value),
            _datetime(self.created),
            _datetime(self.updated),
            score,
        )


def get_entry(connection: sqlite3.Connection, op: GetOp, since: float) -> StoredEntry | None:
    """The entry under a key, unless it expires before `since`."""
    row = connection.execute(
        f"{_SELECT_JOINED} WHERE n.path = ? AND e.key = ? AND {_NOT_EXPIRED}",
        (path_of(op.namespace), str(op.key), since),
    ).fetchone()
    return None if row is None else StoredEntry(*row)


def search_newest(connection: sqlite3.Connection, op: SearchOp, since: float) -> list[StoredEntry]:
    """The entries that match a search without a query, most recently written first."""
    if not op.namespace_prefix:
        condition = filter_condition(op.filter, "e.value")
        # CROSS JOIN keeps SQLite from beginning with the namespaces: read by id, nothing has to be sorted.
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM entries AS e CROSS JOIN namespaces AS n ON n.no = e.namespace "
            f"WHERE {_NOT_EXPIRED} AND {condition.sql} ORDER BY e.id DESC LIMIT ? OFFSET ?",
            (since, *condition.parameters, op.limit, op.offset),
        )
        return [StoredEntry(*row) for row in rows]
    last = op.offset + op.limit
    page = heapq.nlargest(last, matching_ids(connection, op, since, last))[op.offset :]
    entries = load_matching(connection, page, op, since)
    return [entries[id] for id in page]


def matching_ids(connection: sqlite3.Connection, op: SearchOp, since: float, most: int = -1) -> list[int]:
    """The ids of the entries that a search may return: of each namespace the latest, `most` of them; -1 for all."""
    condition = filter_condition(op.filter, "e.value")
    query = (
        f"SELECT e.id FROM entries AS e WHERE e.namespace = ? AND {_NOT_EXPIRED} AND {condition.sql} "
        "ORDER BY e.id DESC LIMIT ?"
    )
    return [
        id
        for no in namespaces_below(connection, op.namespace_prefix)
        for (id,) in connection.execute(query, (no, since, *condition.parameters, most))
    ]


def load_matching(
    connection: sqlite3.Connection, ids: Iterable[int], op: SearchOp, since: float
) -> dict[int, StoredEntry]:
    """Return the entries that a search may return, by id."""
    condition = filter_condition(op.filter, "e.value")
    rows = connection.execute(
        f"{_SELECT_JOINED} WHERE e.id IN (SELECT value FROM json_each(?)) "
        f"AND (n.path = ? OR n.path >= ? AND n.path < ?) AND {_NOT_EXPIRED} AND {condition.sql}",
        (json.dumps(list(ids)), *path_range(op.namespace_prefix), since, *condition.parameters),
    )
    return {row[0]: StoredEntry(*row) for row in rows}


def list_namespaces(connection: sqlite3.Connection, op: ListNamespacesOp, since: float) -> list[Namespace]:
    """The namespaces that hold an entry, sorted."""
    rows = connection.execute(
        "SELECT n.path FROM namespaces AS n "
        f"WHERE EXISTS (SELECT 1 FROM entries AS e WHERE e.namespace = n.no AND {_NOT_EXPIRED})",
        (since,),
    )
    namespaces = (namespace_labels(path) for (path,) in rows)
    matching = {
        labels[: op.max_depth] for labels in namespaces if matches_conditions(labels, op.match_conditions or ())
    }
    return sorted(matching)[op.offset : op.offset + op.limit]


def refresh_ttl(connection: sqlite3.Connection, entries: Iterable[int], now: float) -> None:
    """Restart the time to live of entries."""
    connection.execute(
        f"UPDATE entries SET expires = ? + ttl * {_SECONDS_PER_MINUTE} WHERE ttl IS NOT NULL "
        "AND id IN (SELECT value FROM json_each(?))",
        (now, json.dumps(list(entries))),
    )


def write_entry(connection: sqlite3.Connection, new: NewEntry, now: float) -> tuple[int, int] | None:
    """Write an entry, replacing the one under its key.

    Returns:
        Its id and the number of its namespace; None if it was deleted.
    """
    row: tuple[int, int | None, int] | None = connection.execute(
        "SELECT n.no, e.id, e.created FROM namespaces AS n LEFT JOIN entries AS e ON e.namespace = n.no AND e.key = ? "
        "WHERE n.path = ?",
        (new.key, new.path),
    ).fetchone()
    namespace, old, created = row or (None, None, 0)
    if old is not None:
        _delete_entries(connection, [old])
    if new.value is None:
        if namespace is not None and old is not None:
            _delete_empty_namespaces(connection, [namespace])
        return None
    if namespace is None:
        namespace = connection.execute("INSERT INTO namespaces (path) VALUES (?)", (new.path,)).lastrowid
    moment = int(now * _MICROSECONDS)
    expires = None if new.ttl is None else now + new.ttl * _SECONDS_PER_MINUTE
    id = connection.execute(
        "INSERT INTO entries (namespace, key, value, fields, created, updated, ttl, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (namespace, new.key, new.value, new.fields, moment if old is None else created, moment, new.ttl, expires),
    ).lastrowid
    assert id is not None
    assert namespace is not None
    return id, namespace


def delete_expired(connection: sqlite3.Connection, now: float) -> int:
    """Delete expired entries and return their number."""
    rows: list[tuple[int, int]] = connection.execute(
        "SELECT id, namespace FROM entries WHERE expires <= ?", (now,)
    ).fetchall()
    _delete_entries(connection, [id for id, _ in rows])
    _delete_empty_namespaces(connection, {namespace for _, namespace in rows})
    return len(rows)


def _delete_entries(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    spaces = [no for (no,) in connection.execute("SELECT no FROM spaces").fetchall()]
    for id in ids:
        for space in spaces:
            connection.execute("DELETE FROM vectors WHERE id BETWEEN ? AND ?", row_range(space, id))
        connection.execute("DELETE FROM entries WHERE id = ?", (id,))
        log_change(connection, 0, id)


def _delete_empty_namespaces(connection: sqlite3.Connection, namespaces: Iterable[int]) -> None:
    connection.executemany(
        "DELETE FROM namespaces WHERE no = ? AND NOT EXISTS (SELECT 1 FROM entries WHERE namespace = namespaces.no)",
        [(no,) for no in namespaces],
    )


def _datetime(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / _MICROSECONDS, UTC)
