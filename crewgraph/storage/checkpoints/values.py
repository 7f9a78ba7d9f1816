"""What tasks wrote and what channels hold, as bytes that both share.

How values become bytes: msgpack and an allow-list, nothing that can run.
"""

import hashlib
import json
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.constants import START

__all__ = ["StrictSerializer", "Typed", "Values", "Write"]


Typed = tuple[str, bytes] | None
"""A value as a serializer wrote it: its kind and its bytes. None is None."""

_NONE = 0  # the number that stands for None, which needs no row
_HERE = -1  # the number that says that a write's bytes stand in its own row
_KEPT = 256  # supersteps whose writes are remembered until the checkpoint after them

_SELECT_WRITES = (
    "SELECT w.task, w.channel, w.value, coalesce(v.kind, w.kind), coalesce(v.data, w.data) "
    "FROM writes w LEFT JOIN payloads v ON v.no = w.value "
    "WHERE w.lineage = ? AND w.checkpoint = ? ORDER BY w.path, w.task, w.idx"
)
_SELECT_SLOTS = "SELECT idx, value FROM writes WHERE lineage = ? AND checkpoint = ? AND task = ?"
_SELECT_SLOT = "SELECT value FROM writes WHERE lineage = ? AND checkpoint = ? AND task = ? AND idx = ?"
_INSERT_WRITE = "INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_UPDATE_WRITE = (
    "UPDATE writes SET path = ?, channel = ?, value = ? WHERE lineage = ? AND checkpoint = ? AND task = ? AND idx = ?"
)
_Row = tuple[int, str, str, int, str, str, int, str | None, bytes | None]


class Write(NamedTuple):
    """What a task wrote to a channel."""

    idx: int
    """Its position; a negative one replaces what was there, any other is written once."""

    channel: str
    typed: Typed


class Values:
    """The tables `writes` and `payloads`.

    What a task writes is mostly what its channel holds then. The writes of a superstep are remembered until
    its checkpoint comes, and are checked before their bytes are shared: another process may have removed
    them.
    """

    def __init__(self) -> None:
        self._recent: OrderedDict[tuple[int, str], dict[tuple[str, bytes], tuple[str, int, int]]] = OrderedDict()

    def place(
        self, connection: sqlite3.Connection, no: int, parent: str | None, values: Iterable[tuple[str, Typed]]
    ) -> dict[str, int]:
        """Store the values of channels, after the writes at the parent checkpoint; channel to number."""
        recent = self._recent.pop((no, parent), {}) if parent is not None else {}
        places: dict[str, int] = {}
        for channel, typed in values:
            known = recent.get(_digest(typed)) if recent and typed is not None else None
            if known is not None and connection.execute(_SELECT_SLOT, (no, parent, known[0], known[1])).fetchone() == (
                known[2],
            ):
                places[channel] = known[2]
            else:
                places[channel] = _added(connection, typed)
        return places

    def append(
        self,
        connection: sqlite3.Connection,
        no: int,
        checkpoint: str,
        task: str,
        path: str,
        writes: Sequence[Write],
    ) -> None:
        """Store what a task wrote."""
        rows: list[_Row] = []
        for idx, channel, typed in writes:
            if idx >= 0 and typed is not None and channel.startswith("__") and channel != START:
                # A reserved name: no channel will hold the value. One page less to write is a third of the time.
                rows.append((no, checkpoint, task, idx, path, channel, _HERE, *typed))
                continue
            number = _added(connection, typed)
            rows.append((no, checkpoint, task, idx, path, channel, number, None, None))
            if typed is not None and idx >= 0:
                self._recent.setdefault((no, checkpoint), {})[_digest(typed)] = task, idx, number
        if connection.executemany(_INSERT_WRITE, rows).rowcount < len(rows):
            _settle(connection, rows)
        if len(self._recent) > _KEPT:
            self._recent.popitem(last=False)

    def drop(self, connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
        """Remove values that nothing refers to any more."""
        connection.executemany("DELETE FROM payloads WHERE no = ?", [(number,) for number in numbers])

    def forget(self) -> None:
        """Remember nothing."""
        self._recent.clear()

    def at(self, connection: sqlite3.Connection, places: Mapping[str, int]) -> list[tuple[str, Typed]]:
        """The values of channels; kind and bytes are None where a value is missing."""
        select = "SELECT kind, data FROM payloads WHERE no = ?"
        return [
            (
                channel,
                None if number == _NONE else connection.execute(select, (number,)).fetchone() or ("", b""),
            )
            for channel, number in places.items()
        ]

    def writes(self, connection: sqlite3.Connection, no: int, checkpoint: str) -> list[tuple[str, str, Typed]]:
        """Task, channel and value of the writes at a checkpoint, in the order they are applied."""
        return [
            (task, channel, None if number == _NONE else (kind or "", data or b""))
            for task, channel, number, kind, data in connection.execute(_SELECT_WRITES, (no, checkpoint))
        ]


def _settle(connection: sqlite3.Connection, rows: Sequence[_Row]) -> None:
    # Some positions were taken: the first write stays, but for errors, interrupts and answers.
    slots: dict[int, int] = dict(connection.execute(_SELECT_SLOTS, rows[0][:3]).fetchall())
    for no, checkpoint, task, idx, path, channel, number, *_ in rows:
        old = slots[idx]
        if idx < 0:
            connection.execute(_UPDATE_WRITE, (path, channel, number, no, checkpoint, task, idx))
        if old != number:
            connection.execute("DELETE FROM payloads WHERE no = ?", (old if idx < 0 else number,))


def _added(connection: sqlite3.Connection, typed: Typed) -> int:
    if typed is None:
        return _NONE
    return connection.execute("INSERT INTO payloads (kind, data) VALUES (?, ?)", typed).lastrowid or _NONE


def _digest(typed: tuple[str, bytes]) -> tuple[str, bytes]:
    return typed[0], hashlib.blake2b(typed[1], digest_size=16).digest()


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer with its doors closed: no pickle, and no class but built-in and message types.

    Bytes that were tampered with become inert data: a class that is not allowed is read as a dict of its
    fields, and JSON is read as JSON, without constructors.
    """

    def __init__(self, *, allowed: Iterable[tuple[str, ...] | type] = ()) -> None:
        super().__init__(
            pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=tuple(allowed) or None
        )

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        if data[0] == "json":
            return json.loads(data[1])
        return super().loads_typed(data)
