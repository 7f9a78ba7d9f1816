"""Threads as rows: storing, finding and listing checkpoints, each in one transaction.

What a `DeltaChannel` is rebuilt from: the ancestors' writes, back to the last that holds its value.
"""

import sqlite3
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from crewgraph.storage.checkpoints.values import Typed, Values, Write
from crewgraph.storage.checkpoints.versions import EMPTY, Chains, Difference, Link, Version, Versions
from crewgraph.storage.database import Database

__all__ = ["Key", "NewCheckpoint", "Past", "StoredCheckpoint", "Threads", "pasts"]


_P = ParamSpec("_P")
_T = TypeVar("_T")
_INSERT = "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_KNOWN = 4_096  # lineages whose numbers are remembered
_MINUTE = 60  # seconds: how exactly it is known when a thread was last written


class Key(NamedTuple):
    """Where a checkpoint is."""

    thread: str
    ns: str
    id: str


class NewCheckpoint(NamedTuple):
    """A checkpoint to be stored."""

    key: Key
    parent: str | None
    channels: Mapping[str, Version]
    """Channel to its version."""

    seen: Mapping[str, Mapping[str, Version]]
    """Node to the versions it has seen."""

    filled: Container[str]
    """The channels that have a value."""

    run: str | None
    head: tuple[str, bytes]
    """All the rest."""


class StoredCheckpoint(NamedTuple):
    """A checkpoint as it is stored, its values still bytes."""

    key: Key
    parent: str | None
    versions: Versions
    head: tuple[str, bytes]
    values: Sequence[tuple[str, Typed]]
    """Channel and value."""

    writes: Sequence[tuple[str, str, Typed]]
    """Task, channel and value, in the order they are applied."""


class Threads:
    """The threads of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.chains = Chains(database.path)
        self.values = Values()
        self._numbers: dict[tuple[str, str], tuple[int, int]] = {}
        self._opened = database.opened

    def save(self, new: NewCheckpoint, values: Mapping[str, Typed]) -> bool:
        """Store a checkpoint with the values of the channels that changed since its parent.

        Returns:
            False if more channels changed than values are given: nothing was stored, all values are needed.
        """
        self.database.weigh(len(new.head[1]) + sum(len(typed[1]) for typed in values.values() if typed))
        return self._write(new.key.thread, new.key.ns, self._save, new, values)

    def append(self, key: Key, task: str, path: str, writes: Sequence[Write]) -> None:
        """Store what a task wrote at a checkpoint, which itself may come later."""
        self.database.weigh(sum(len(write.typed[1]) for write in writes if write.typed))
        self._write(key.thread, key.ns, self.values.append, key.id, task, path, writes)

    def find(self, thread: str, ns: str, id: str | None) -> StoredCheckpoint | None:
        """A checkpoint of a thread; the latest if none is named."""
        return self.database.read(self._find, thread, ns, id)

    def keys(
        self,
        thread: str | None,
        ns: str | None,
        id: str | None,
        before: str | None,
        limit: int | None,
    ) -> list[Key]:
        """Where the checkpoints are that meet all conditions given, newest first."""
        conditions = {"l.thread = ?": thread, "l.ns = ?": ns, "c.id = ?": id, "c.id < ?": before}
        given = {text: value for text, value in conditions.items() if value is not None}
        where = f"WHERE {' AND '.join(given)}" if given else ""
        rows = self.database.read(
            lambda connection: connection.execute(
                f"SELECT l.thread, l.ns, c.id FROM lineages l JOIN checkpoints c ON c.lineage = l.no {where} "
                "ORDER BY c.id DESC, l.no LIMIT ?",
                (*given.values(), -1 if limit is None else limit),
            ).fetchall()
        )
        return [Key(*row) for row in rows]

    def load(self, keys: Sequence[Key], wanted: Callable[[str, bytes], bool]) -> list[StoredCheckpoint]:
        """Those of some checkpoints that are still there and whose head is wanted."""
        return self.database.read(self._load_all, keys, wanted)

    def names(self, beginning: str) -> list[str]:
        """The threads whose names begin like this, sorted."""
        select = "SELECT DISTINCT thread FROM lineages WHERE thread >= ? AND thread < ? ORDER BY thread"
        bounds = beginning, f"{beginning}\U0010ffff"
        return [
            name for (name,) in self.database.read(lambda connection: connection.execute(select, bounds).fetchall())
        ]

    def number(self, connection: sqlite3.Connection, thread: str, ns: str) -> int | None:
        """The number of a lineage."""
        row = connection.execute("SELECT no FROM lineages WHERE thread = ? AND ns = ?", (thread, ns)).fetchone()
        return None if row is None else row[0]

    def payloads(self, connection: sqlite3.Connection, no: int) -> set[int]:
        """The numbers of all values that a lineage's checkpoints and writes refer to."""
        written = connection.execute("SELECT value FROM writes WHERE lineage = ? AND value >= 0", (no,)).fetchall()
        rows = connection.execute("SELECT id, versions FROM checkpoints WHERE lineage = ?", (no,)).fetchall()
        held = (number for row in rows for number in self.chains.read(*row).places.values())
        return {number for (number,) in written}.union(held)

    def forget(self) -> None:
        """Remember nothing of what was removed or changed."""
        self._numbers.clear()
        self.chains.forget()
        self.values.forget()

    def _save(self, connection: sqlite3.Connection, no: int, new: NewCheckpoint, values: Mapping[str, Typed]) -> bool:
        id, parent = new.key.id, new.parent
        base = None if parent is None else self.chains.parent(connection, no, parent)
        versions = EMPTY if base is None else base.versions
        difference = versions.compared(new.channels, new.seen)
        filled = [channel for channel in difference.channels if channel in new.filled]
        if not all(channel in values for channel in filled):
            return False
        places = self.values.place(connection, no, parent, [(channel, values[channel]) for channel in filled])
        difference = Difference(difference.channels, difference.seen, places, difference.gone)
        if base is None:
            link, text = Link.alone(id, EMPTY.then((difference,)))
        else:
            link, text = base.child(id, difference)
        row = (no, id, parent, link.drift, link.whole, new.run, *new.head, text)
        if not connection.execute(_INSERT, row).rowcount:
            self._make_room(connection, no, id)
            connection.execute(_INSERT, row)
        self.chains.remember(no, link)
        return True

    def _make_room(self, connection: sqlite3.Connection, no: int, id: str) -> None:
        # The checkpoint is stored again: its children must not change with it.
        children = connection.execute(
            "SELECT id FROM checkpoints WHERE lineage = ? AND parent = ? AND drift > 0", (no, id)
        ).fetchall()
        for (child,) in children:
            self.chains.make_whole(connection, no, child)
        held = self.payloads(connection, no)
        connection.execute("DELETE FROM checkpoints WHERE lineage = ? AND id = ?", (no, id))
        self.values.drop(connection, held - self.payloads(connection, no))

    def _find(self, connection: sqlite3.Connection, thread: str, ns: str, id: str | None) -> StoredCheckpoint | None:
        no = self.number(connection, thread, ns)
        if no is None:
            return None
        if id is None:
            (id,) = connection.execute("SELECT max(id) FROM checkpoints WHERE lineage = ?", (no,)).fetchone()
        return None if id is None else self._load(connection, Key(thread, ns, id), no, {}, _any)

    def _load_all(
        self, connection: sqlite3.Connection, keys: Sequence[Key], wanted: Callable[[str, bytes], bool]
    ) -> list[StoredCheckpoint]:
        memos: dict[int, dict[str, Versions]] = {}
        found: list[StoredCheckpoint] = []
        for key in reversed(keys):  # oldest first, as each is a difference to an older one
            no = self.number(connection, key.thread, key.ns)
            if no is not None and (one := self._load(connection, key, no, memos.setdefault(no, {}), wanted)):
                found.append(one)
        return found[::-1]

    def _load(
        self,
        connection: sqlite3.Connection,
        key: Key,
        no: int,
        memo: dict[str, Versions],
        wanted: Callable[[str, bytes], bool],
    ) -> StoredCheckpoint | None:
        row = connection.execute(
            "SELECT parent, kind, head FROM checkpoints WHERE lineage = ? AND id = ?", (no, key.id)
        ).fetchone()
        if row is None or not wanted(row[1], row[2]):
            return None
        versions = self.chains.versions(connection, no, key.id, memo)
        values = self.values.at(connection, versions.places)
        return StoredCheckpoint(key, row[0], versions, row[1:], values, self.values.writes(connection, no, key.id))

    def _write(
        self,
        thread: str,
        ns: str,
        work: Callable[Concatenate[sqlite3.Connection, int, _P], _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        try:
            return self.database.write(self._numbered, thread, ns, work, *args, **kwargs)
        except sqlite3.IntegrityError:  # the thread was removed by another process: it begins anew
            return self.database.write(self._afresh, thread, ns, work, *args, **kwargs)

    def _numbered(
        self,
        connection: sqlite3.Connection,
        thread: str,
        ns: str,
        work: Callable[Concatenate[sqlite3.Connection, int, _P], _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        if self._opened != self.database.opened:  # in a forked child
            self.forget()
            self._opened = self.database.opened
        known = self._numbers.get((thread, ns))
        if known is None or time.time() - known[1] > _MINUTE:
            return work(connection, self._looked_up(connection, thread, ns), *args, **kwargs)
        return work(connection, known[0], *args, **kwargs)

    def _looked_up(self, connection: sqlite3.Connection, thread: str, ns: str) -> int:
        now = int(time.time())
        row: tuple[int, int] | None = connection.execute(
            "SELECT no, touched FROM lineages WHERE thread = ? AND ns = ?", (thread, ns)
        ).fetchone()
        if row is None:  # not remembered: this transaction may be undone, and the number given to another
            new = "INSERT INTO lineages (thread, ns, touched, created) VALUES (?, ?, ?, ?)"
            return connection.execute(new, (thread, ns, now, time.time())).lastrowid or 0
        no, touched = row
        if now - touched > _MINUTE:
            touched = now
            connection.execute("UPDATE lineages SET touched = ? WHERE no = ?", (now, no))
        if len(self._numbers) > _KNOWN:
            self._numbers.clear()
        self._numbers[thread, ns] = no, touched
        return no

    def _afresh(
        self,
        connection: sqlite3.Connection,
        thread: str,
        ns: str,
        work: Callable[Concatenate[sqlite3.Connection, int, _P], _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        self.forget()
        return self._numbered(connection, thread, ns, work, *args, **kwargs)


def _any(kind: str, head: bytes) -> bool:
    return True


_PAGE = 64  # ancestors whose versions are read together, oldest first, as each is a difference to an older one


class Past(NamedTuple):
    """One channel's past, its values still bytes."""

    writes: list[tuple[str, str, Typed]]
    """Task, channel and value, oldest first."""

    seed: list[Typed]
    """The value that the writes are applied to; empty if there is none."""


def pasts(
    connection: sqlite3.Connection,
    threads: Threads,
    thread: str,
    ns: str,
    id: str | None,
    channels: Iterable[str],
) -> dict[str, Past]:
    """The pasts of channels at a checkpoint, the latest if none is named."""
    found = {channel: Past([], []) for channel in channels}
    no = threads.number(connection, thread, ns)
    if no is None:
        return found
    if id is None:
        (id,) = connection.execute("SELECT max(id) FROM checkpoints WHERE lineage = ?", (no,)).fetchone()
    open_channels = set(found)
    for ancestor, versions in _ancestors(connection, threads, no, id or ""):
        for write in reversed(threads.values.writes(connection, no, ancestor)):
            if write[1] in open_channels:
                found[write[1]].writes.append(write)
        held = {channel: versions.places[channel] for channel in open_channels if channel in versions.places}
        for channel, typed in threads.values.at(connection, held):
            found[channel].seed.append(typed)
            open_channels.remove(channel)
        if not open_channels:
            break
    return {channel: Past(past.writes[::-1], past.seed) for channel, past in found.items()}


def _ancestors(connection: sqlite3.Connection, threads: Threads, no: int, id: str) -> Iterator[tuple[str, Versions]]:
    select = "SELECT parent FROM checkpoints WHERE lineage = ? AND id = ?"
    row = connection.execute(select, (no, id)).fetchone()
    met = {id}
    while row is not None:
        page: list[str] = []
        while row is not None and row[0] is not None and row[0] not in met and len(page) < _PAGE:
            parent = row[0]
            met.add(parent)
            row = connection.execute(select, (no, parent)).fetchone()
            if row is not None:
                page.append(parent)
        memo: dict[str, Versions] = {}
        known = {one: threads.chains.versions(connection, no, one, memo) for one in reversed(page)}
        for one in page:
            yield one, known[one]
        if len(page) < _PAGE:
            return
