"""The values of channels and the writes of tasks, as bytes; a large value is stored once for both."""

import hashlib
import sqlite3
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crewgraph.checkpoints.versions import Version

__all__ = ["Blob", "Values", "Write"]

_LARGE = 512  # bytes: a small value beside its key is cheaper than a row of its own
_KEPT = 256  # supersteps whose large writes are remembered until the checkpoint after them

_DATA = "coalesce(data, (SELECT p.data FROM payloads p WHERE p.no = payload))"
_SELECT_BLOB = f"SELECT kind, {_DATA} FROM blobs WHERE lineage = ? AND version = ? AND channel = ?"
_SELECT_WRITES = (
    f"SELECT task, channel, kind, {_DATA} FROM writes WHERE lineage = ? AND checkpoint = ? ORDER BY path, task, idx"
)
_INSERT_WRITE = (
    "INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET path = excluded.path, "
    "channel = excluded.channel, kind = excluded.kind, data = excluded.data, payload = excluded.payload "
    "WHERE excluded.idx < 0"
)


@dataclass(frozen=True, slots=True)
class Blob:
    """A channel's value at a version."""

    version: str
    channel: str
    kind: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Write:
    """What a task wrote to a channel. A negative index replaces what was there, any other is written once."""

    idx: int
    channel: str
    kind: str
    data: bytes


class Values:
    """The tables `blobs`, `writes` and `payloads`.

    What a task writes is mostly what its channel then holds. The payloads of a superstep's writes are
    remembered until its checkpoint comes, and are checked before they are shared: another process may have
    removed them.
    """

    def __init__(self) -> None:
        self._recent: OrderedDict[tuple[int, str], dict[bytes, tuple[str, int, int]]] = OrderedDict()

    def set(self, connection: sqlite3.Connection, no: int, parent: str | None, blobs: Sequence[Blob]) -> None:
        """Store the values that changed with a checkpoint, after the writes at its parent."""
        recent = self._recent.pop((no, parent), {}) if parent is not None else {}
        rows: list[tuple[object, ...]] = []
        for blob in blobs:
            data, payload = self._placed(connection, no, parent, recent, blob.data)
            rows.append((no, blob.version, blob.channel, blob.kind, data, payload))
        if rows:
            connection.executemany("INSERT INTO blobs VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)

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
        if any(len(write.data) > _LARGE for write in writes):
            writes = self._new(connection, no, checkpoint, task, writes)
        rows: list[tuple[object, ...]] = []
        for write in writes:
            data, payload = write.data, None
            if len(write.data) > _LARGE:
                data, payload = None, _added(connection, write.data)
                if write.idx >= 0:
                    self._remember(no, checkpoint, _digest(write.data), (task, write.idx, payload))
            rows.append((no, checkpoint, task, write.idx, path, write.channel, write.kind, data, payload))
        connection.executemany(
            _INSERT_WRITE,
            rows,
        )

    def forget(self) -> None:
        """Remember nothing."""
        self._recent.clear()

    def at(
        self, connection: sqlite3.Connection, no: int, versions: Mapping[str, Version]
    ) -> list[tuple[str, str, bytes]]:
        """Channel, kind and bytes of all values at these versions; a channel that was emptied has none."""
        found: list[tuple[str, str, bytes]] = []
        for channel, version in versions.items():
            row = connection.execute(_SELECT_BLOB, (no, str(version), channel)).fetchone()
            if row is not None:
                found.append((channel, *row))
        return found

    def writes(self, connection: sqlite3.Connection, no: int, checkpoint: str) -> list[tuple[str, str, str, bytes]]:
        """Task, channel, kind and bytes of the writes at a checkpoint, in the order they are applied."""
        return connection.execute(_SELECT_WRITES, (no, checkpoint)).fetchall()

    def _placed(
        self,
        connection: sqlite3.Connection,
        no: int,
        parent: str | None,
        recent: Mapping[bytes, tuple[str, int, int]],
        data: bytes,
    ) -> tuple[bytes | None, int | None]:
        if len(data) <= _LARGE:
            return data, None
        if recent and (known := recent.get(_digest(data))):
            task, idx, payload = known
            written = connection.execute(
                "SELECT payload FROM writes WHERE lineage = ? AND checkpoint = ? AND task = ? AND idx = ?",
                (no, parent, task, idx),
            ).fetchone()
            if written == (payload,):
                return None, payload
        return None, _added(connection, data)

    def _new(
        self, connection: sqlite3.Connection, no: int, checkpoint: str, task: str, writes: Sequence[Write]
    ) -> list[Write]:
        # A payload must not be added for a write that is not taken, nor stay behind when its write is
        # replaced.
        there: dict[int, int | None] = dict(
            connection.execute(
                "SELECT idx, payload FROM writes WHERE lineage = ? AND checkpoint = ? AND task = ?",
                (no, checkpoint, task),
            ).fetchall()
        )
        for write in writes:
            if write.idx < 0 and (payload := there.get(write.idx)) is not None:
                connection.execute("DELETE FROM payloads WHERE no = ?", (payload,))
        return [write for write in writes if write.idx < 0 or write.idx not in there]

    def _remember(self, no: int, checkpoint: str, digest: bytes, place: tuple[str, int, int]) -> None:
        self._recent.setdefault((no, checkpoint), {})[digest] = place
        if len(self._recent) > _KEPT:
            self._recent.popitem(last=False)


def _added(connection: sqlite3.Connection, data: bytes) -> int:
    no = connection.execute("INSERT INTO payloads (data) VALUES (?)", (data,)).lastrowid
    assert no is not None
    return no


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
