"""Serialized values in the tables `writes` and `payloads`, and the serializer, which never runs code from the database."""

import hashlib
import json
import sqlite3
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.constants import START

from crewgraph.core.plain import NotPlain
from crewgraph.redaction import SecretRedactor

if TYPE_CHECKING:
    from crewgraph.storage.checkpoints.versions import Chains

__all__ = ["StrictSerializer", "Typed", "Values", "Write"]


Typed = tuple[str, bytes] | None
_Mark = tuple[str, bytes] | tuple[str, int, bytes]
"""A serialized value: its kind and its bytes. None stands for None."""

_NONE = 0  # the number that stands for None, which needs no row
_INLINE = -1  # the number that says that a write's bytes stand in its own row
_SHORT = 2048  # bytes
_MAX_CACHED = 256  # supersteps whose writes are remembered until the checkpoint after them

_SELECT_WRITES = (
    "SELECT w.task, w.channel, w.value, coalesce(v.kind, w.kind), coalesce(v.data, w.data) "
    "FROM writes w LEFT JOIN payloads v ON v.no = w.value "
    "WHERE w.lineage = ? AND w.checkpoint = ? ORDER BY w.path, w.task, w.idx"
)
_SELECT_SLOTS = "SELECT idx, value FROM writes WHERE lineage = ? AND checkpoint = ? AND task = ?"
_SELECT_SAME = (
    "SELECT c.versions FROM checkpoints c, payloads v "
    "WHERE c.lineage = ? AND c.id = ? AND v.no = ? AND v.kind = ? AND v.data = ?"
)
_SELECT_SLOT = "SELECT value FROM writes WHERE lineage = ? AND checkpoint = ? AND task = ? AND idx = ?"
_INSERT_WRITE = "INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_UPDATE_WRITE = (
    "UPDATE writes SET path = ?, channel = ?, value = ? WHERE lineage = ? AND checkpoint = ? AND task = ? AND idx = ?"
)
_Row = tuple[int, str, str, int, str, str, int, str | None, bytes | None]


class Write(NamedTuple):
    """A task's write to a channel."""

    idx: int
    """The position. A negative one is replaced by later writes, any other is written once."""

    channel: str
    typed: Typed


class Values:
    """The tables `writes` and `payloads`.

    What a task writes is mostly what its channel holds afterwards. The writes of a superstep are cached until its checkpoint
    is stored, and the values of a checkpoint until late writes of the superstep before it are: the threads of LangGraph store
    them in any order. They are verified before their bytes are shared: another process may have removed them.

    Args:
        chains: reads the values that a checkpoint refers to.
    """

    def __init__(self, chains: "Chains") -> None:
        self._chains = chains
        self._recent: OrderedDict[tuple[int, str], dict[_Mark, tuple[str, int, int]]] = OrderedDict()
        self._without_write: OrderedDict[tuple[int, str], dict[str, tuple[str, int]]] = OrderedDict()

    def store(
        self, connection: sqlite3.Connection, no: int, id: str, parent: str | None, values: Iterable[tuple[str, Typed]]
    ) -> dict[str, int]:
        """Store the values of a checkpoint's channels, after the writes at its parent.

        Returns:
            The id of each channel's value.
        """
        recent = self._recent.pop((no, parent), {}) if parent is not None else {}
        value_ids: dict[str, int] = {}
        for channel, typed in values:
            recorded = recent.get(_marked(typed)) if recent and typed is not None else None
            if recorded is not None and connection.execute(
                _SELECT_SLOT, (no, parent, recorded[0], recorded[1])
            ).fetchone() == (recorded[2],):
                value_ids[channel] = recorded[2]
            else:
                value_ids[channel] = number = _insert(connection, typed)
                if parent is not None and number != _NONE:
                    self._without_write.setdefault((no, parent), {})[channel] = id, number
        if len(self._without_write) > _MAX_CACHED:
            self._without_write.popitem(last=False)
        return value_ids

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
        stored, shared = self._without_write.get((no, checkpoint)), set[int]()
        for idx, channel, typed in writes:
            if idx >= 0 and typed is not None and channel.startswith("__") and channel != START:
                # A reserved name: no channel will hold the value. One page less to write is a third of the time.
                rows.append((no, checkpoint, task, idx, path, channel, _INLINE, *typed))
                continue
            value = stored.get(channel) if stored and typed is not None and idx >= 0 else None
            if value is not None and self._is_same(connection, no, *value, typed):
                number = value[1]
                shared.add(number)
            else:
                number = _insert(connection, typed)
            rows.append((no, checkpoint, task, idx, path, channel, number, None, None))
            if typed is not None and idx >= 0:
                self._recent.setdefault((no, checkpoint), {})[_marked(typed)] = task, idx, number
        if connection.executemany(_INSERT_WRITE, rows).rowcount < len(rows):
            _resolve_conflicts(connection, rows, shared)
        if len(self._recent) > _MAX_CACHED:
            self._recent.popitem(last=False)

    def drop(self, connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
        """Delete values that are no longer referenced."""
        connection.executemany("DELETE FROM payloads WHERE no = ?", [(number,) for number in numbers])

    def clear_cache(self) -> None:
        """Drop all cached writes and values."""
        self._recent.clear()
        self._without_write.clear()

    def _is_same(self, connection: sqlite3.Connection, no: int, checkpoint: str, number: int, typed: Typed) -> bool:
        """Whether a checkpoint still refers to a value, and the value has these bytes."""
        row = connection.execute(_SELECT_SAME, (no, checkpoint, number, *(typed or ()))).fetchone()
        return row is not None and number in self._chains.from_json(checkpoint, row[0]).value_ids.values()

    def load(self, connection: sqlite3.Connection, places: Mapping[str, int]) -> list[tuple[str, Typed]]:
        """Load the values of channels; kind and bytes are empty where a value is missing."""
        select = "SELECT kind, data FROM payloads WHERE no = ?"
        return [
            (
                channel,
                None if number == _NONE else connection.execute(select, (number,)).fetchone() or ("", b""),
            )
            for channel, number in places.items()
        ]

    def writes(self, connection: sqlite3.Connection, no: int, checkpoint: str) -> list[tuple[str, str, Typed]]:
        """(task, channel, value) of the writes at a checkpoint, in the order in which they are applied."""
        return [
            (task, channel, None if number == _NONE else (kind or "", data or b""))
            for task, channel, number, kind, data in connection.execute(_SELECT_WRITES, (no, checkpoint))
        ]


def _resolve_conflicts(connection: sqlite3.Connection, rows: Sequence[_Row], shared: Collection[int]) -> None:
    # Some positions were taken: the first write stays, but for errors, interrupts and answers.
    slots: dict[int, int] = dict(connection.execute(_SELECT_SLOTS, rows[0][:3]).fetchall())
    for no, checkpoint, task, idx, path, channel, number, *_ in rows:
        old = slots[idx]
        if idx < 0:
            connection.execute(_UPDATE_WRITE, (path, channel, number, no, checkpoint, task, idx))
        if old != number and (idx < 0 or number not in shared):
            connection.execute("DELETE FROM payloads WHERE no = ?", (old if idx < 0 else number,))


def _insert(connection: sqlite3.Connection, typed: Typed) -> int:
    if typed is None:
        return _NONE
    return connection.execute("INSERT INTO payloads (kind, data) VALUES (?, ?)", typed).lastrowid or _NONE


def _marked(typed: tuple[str, bytes]) -> _Mark:
    """Return what tells a value from all others, and takes little memory: a short value itself, the digest of a long one."""
    kind, data = typed
    return typed if len(data) <= _SHORT else (kind, len(data), hashlib.blake2b(data, digest_size=16).digest())


_OUTPUTS = (
    ("crewgraph.definitions.task.output", "CrewOutput"),
    ("crewgraph.definitions.task.output", "TaskOutput"),
    ("crewgraph.definitions.agent.output", "LiteAgentOutput"),
    ("crewgraph.llm.usage", "UsageMetrics"),
)
"""What nodes of a graph return that run crews and agents; they are validated data."""


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer without pickle, restricted to built-in and message types and the outputs of crews and agents.

    Bytes that were tampered with become inert data: an instance of a class that is not allowed is read as a dict of its
    fields, and JSON is read without constructors.
    """

    def __init__(self, *, allowed: Iterable[tuple[str, ...] | type] = ()) -> None:
        super().__init__(
            pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=(*_OUTPUTS, *allowed)
        )

    @classmethod
    def like(cls, serde: JsonPlusSerializer) -> "StrictSerializer":
        """Return a strict serializer with the allow-list of another one, if that has a list."""
        listed = serde._allowed_msgpack_modules
        return cls(allowed=() if isinstance(listed, bool) or listed is None else listed)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Serialize a value to its kind and its bytes. Of an error the text is stored, without secrets.

        Raises:
            NotPlain: it cannot be serialized.
        """
        try:
            return super().dumps_typed(SecretRedactor().redact(repr(obj)) if isinstance(obj, BaseException) else obj)
        except TypeError as error:
            raise NotPlain(
                f"a value of type `{type(obj).__name__}` cannot be stored in a checkpoint: {error}. Checkpoints hold data "
                "nested up to 255 deep, whole numbers of up to 64 bits, and objects that LangGraph's serializer knows."
            ) from error

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Deserialize a value.

        Raises:
            NotImplementedError: the kind of its bytes is unknown, or pickle, which would run them.
        """
        kind, encoded = data
        if kind == "json":
            return json.loads(encoded)
        if kind == "pickle":
            raise NotImplementedError("crewgraph reads no pickle, which runs what it holds")
        return super().loads_typed(data)
