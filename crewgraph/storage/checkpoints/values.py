"""Serialized values in the tables `writes` and `payloads`, and the serializer, which never runs code from the database."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from crewgraph.core.plain import NotPlain
from crewgraph.redaction import SecretRedactor

Typed = tuple[str, bytes] | None
"""A serialized value: its kind and its bytes. None stands for None."""

_NONE = 0  # the number that stands for None, which needs no row

_SELECT_WRITES = (
    "SELECT task, channel, kind, data FROM writes WHERE lineage = ? AND checkpoint = ? ORDER BY path, task, idx"
)
_INSERT_WRITE = "INSERT OR IGNORE INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_REPLACE_WRITE = "INSERT OR REPLACE INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class Write(NamedTuple):
    """A task's write to a channel."""

    idx: int
    """The position. A negative one is replaced by later writes, any other is written once."""

    channel: str
    typed: Typed


def store_values(connection: sqlite3.Connection, values: Iterable[tuple[str, Typed]]) -> dict[str, int]:
    """Store the values of channels; return the id of each."""
    return {channel: _insert(connection, typed) for channel, typed in values}


def _insert(connection: sqlite3.Connection, typed: Typed) -> int:
    if typed is None:
        return _NONE
    return connection.execute("INSERT INTO payloads (kind, data) VALUES (?, ?)", typed).lastrowid or _NONE


def load_values(connection: sqlite3.Connection, value_ids: Mapping[str, int]) -> list[tuple[str, Typed]]:
    """Load the values of channels; kind and bytes are empty where a value is missing."""
    select = "SELECT kind, data FROM payloads WHERE no = ?"
    return [
        (channel, None if number == _NONE else connection.execute(select, (number,)).fetchone() or ("", b""))
        for channel, number in value_ids.items()
    ]


def drop_values(connection: sqlite3.Connection, value_ids: Iterable[int]) -> None:
    """Delete values that are no longer referenced."""
    connection.executemany("DELETE FROM payloads WHERE no = ?", [(number,) for number in value_ids])


def store_writes(
    connection: sqlite3.Connection, no: int, checkpoint: str, task: str, path: str, writes: Sequence[Write]
) -> None:
    """Store what a task wrote. The first write at a position stays, but for errors, interrupts and answers."""
    for statement, replaces in ((_INSERT_WRITE, False), (_REPLACE_WRITE, True)):
        rows = [
            (no, checkpoint, task, write.idx, path, write.channel, *(write.typed or (None, None)))
            for write in writes
            if (write.idx < 0) is replaces
        ]
        if rows:
            connection.executemany(statement, rows)


def load_writes(connection: sqlite3.Connection, no: int, checkpoint: str) -> list[tuple[str, str, Typed]]:
    """Load (task, channel, value) of the writes at a checkpoint, in the order in which they are applied."""
    return [
        (task, channel, None if kind is None else (kind, data))
        for task, channel, kind, data in connection.execute(_SELECT_WRITES, (no, checkpoint))
    ]


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
