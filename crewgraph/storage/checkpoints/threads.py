"""Rows of threads: storing, finding and listing checkpoints, each in one transaction."""

import os
import sqlite3
import time
from collections.abc import Callable, Container, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from langchain_core.runnables import RunnableConfig

from crewgraph.core.journal import SYNCED
from crewgraph.core.pregel import CLAIM, move_past
from crewgraph.storage.checkpoints.values import (
    Typed,
    Write,
    drop_values,
    load_values,
    load_writes,
    store_values,
    store_writes,
)
from crewgraph.storage.checkpoints.versions import EMPTY, Chains, Difference, Link, Version, Versions
from crewgraph.storage.claims.files import FileClaim
from crewgraph.storage.database import Database, WouldBlock

_SELECT_LINEAGE = "SELECT no, touched FROM lineages WHERE thread = ? AND ns = ?"
_INSERT_LINEAGE = "INSERT INTO lineages (thread, ns, touched, created) VALUES (?, ?, ?, ?)"
_INSERT = "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_LATEST = "SELECT latest, (SELECT max(id) FROM checkpoints WHERE lineage = no) FROM lineages WHERE no = ?"
_SET_LATEST = (
    "UPDATE lineages SET latest = CASE WHEN EXISTS (SELECT 1 FROM checkpoints WHERE lineage = no AND id > :id) THEN :id END "
    "WHERE no = :no AND (latest IS NOT NULL OR EXISTS (SELECT 1 FROM checkpoints WHERE lineage = no AND id > :id))"
)
_SIZE = attrgetter("size")
_MAX_NEW = 4_096  # threads that have begun, and have no rows yet
_MINUTE = 60  # seconds: the precision of a thread's time of writing


NameFilter = Callable[[str], bool]
"""Selects threads or channels, by name."""


class Key(NamedTuple):
    """Identifies a checkpoint."""

    thread: str
    ns: str
    id: str


class StoredCheckpoint(NamedTuple):
    """A stored checkpoint with its values still serialized."""

    key: Key
    parent: str | None
    versions: Versions
    head: tuple[str, bytes]
    values: Sequence[tuple[str, Typed]]
    """(channel, value) pairs."""

    writes: Sequence[tuple[str, str, Typed]]
    """(task, channel, value) in the order in which they are applied."""


class CheckpointRows(NamedTuple):
    """A checkpoint to store, with its values."""

    key: Key
    parent: str | None
    channels: Mapping[str, Version]
    """Version by channel."""

    seen: Mapping[str, Mapping[str, Version]]
    """Versions that a node has seen, by node."""

    filled: Container[str]
    """The channels that have a value."""

    run: str | None
    head: tuple[str, bytes]
    """The serialized rest."""

    changed: Mapping[str, Typed]
    """The values of the channels that changed since its parent."""

    all_values: Callable[[], Mapping[str, Typed]]
    """All of its values, for the case that the parent is not stored."""

    @property
    def size(self) -> int:
        """Bytes to write."""
        return len(self.head[1]) + sum(len(typed[1]) for typed in self.changed.values() if typed)


class WriteRows(NamedTuple):
    """The writes of a task at a checkpoint, which may itself be stored later."""

    key: Key
    task: str
    path: str
    writes: Sequence[Write]

    @property
    def size(self) -> int:
        """Bytes to write."""
        return sum(len(write.typed[1]) for write in self.writes if write.typed)


class Threads:
    """The threads of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.chains = Chains(database.path)
        self._new: set[str] = set()
        self._process = os.getpid()  # that `_new` is of: its parent may store what a forked child has not seen begin

    def save_many(self, saves: "Sequence[CheckpointRows | WriteRows]", config: RunnableConfig) -> None:
        """Store checkpoints and writes of one lineage in one transaction; writes may come before their checkpoint.

        Args:
            saves: the checkpoints and writes.
            config: holds the claim of the run that stores them; other code has none. With `SYNCED`, wait for the disk.

        Raises:
            ThreadBusy: the run has lost its claim; nothing is stored.
        """
        if not saves:
            return
        place = config.get("configurable") or {}
        claim = place.get(CLAIM)
        is_fenced = isinstance(claim, FileClaim) and claim.database and claim.database.path == self.database.path
        fence = claim if is_fenced else None
        self.database.announce_write(map(_SIZE, saves))
        try:
            (self.database.write_synced if SYNCED in place else self.database.write)(self._save_many, saves, fence)
        except WouldBlock:
            raise
        except BaseException:  # nothing was stored, so nothing may stay cached
            self._new.clear()
            self.chains.clear_cache()
            raise
        if fence is not None:
            fence.is_counted = True
        self._new.discard(saves[0].key.thread)

    def begin(self, thread: str) -> None:
        """Note that a thread is new, by an id that no other can have: nothing is searched for it before its first rows."""
        if len(self._new) > _MAX_NEW or self._process != os.getpid():
            self._new.clear()
            self._process = os.getpid()
        self._new.add(thread)

    def is_new(self, thread: str) -> bool:
        """Whether a thread has begun, and nothing is stored for it yet."""
        return thread in self._new and self._process == os.getpid()

    def find(self, thread: str, ns: str, id: str | None) -> StoredCheckpoint | None:
        """A checkpoint of a thread, by default the latest; None if there is none."""
        return None if self.is_new(thread) else self.database.read(self._find, thread, ns, id)

    def keys(
        self,
        thread: str | None,
        ns: str | None,
        id: str | None,
        before: str | None,
        limit: int | None,
    ) -> list[Key]:
        """The keys of the checkpoints that match all conditions that are not None, newest first."""
        conditions = {"l.thread = ?": thread, "l.ns = ?": ns, "c.id = ?": id, "c.id < ?": before}
        bound = {text: value for text, value in conditions.items() if value is not None}
        where = f"WHERE {' AND '.join(bound)}" if bound else ""
        first = "" if thread is None else "c.id IS l.latest DESC, "
        rows = self.database.read(
            lambda connection: connection.execute(
                f"SELECT l.thread, l.ns, c.id FROM lineages l JOIN checkpoints c ON c.lineage = l.no {where} "
                f"ORDER BY {first}c.id DESC, l.no LIMIT ?",
                (*bound.values(), -1 if limit is None else limit),
            ).fetchall()
        )
        return [Key(*row) for row in rows]

    def load(self, keys: Sequence[Key], matches: Callable[[str, bytes], bool]) -> list[StoredCheckpoint]:
        """Load the checkpoints that still exist and whose head matches."""
        return self.database.read(self._load_all, keys, matches)

    def names(self, beginning: str) -> list[str]:
        """The ids of the threads that start with `beginning`, sorted."""
        select = "SELECT DISTINCT thread FROM lineages WHERE thread >= ? AND thread < ? ORDER BY thread"
        bounds = beginning, f"{beginning}\U0010ffff"
        return [
            name for (name,) in self.database.read(lambda connection: connection.execute(select, bounds).fetchall())
        ]

    def number(self, connection: sqlite3.Connection, thread: str, ns: str) -> int | None:
        """The number of a lineage (a thread in a namespace); None if it does not exist."""
        row = connection.execute(_SELECT_LINEAGE, (thread, ns)).fetchone()
        return None if row is None else row[0]

    def payloads(self, connection: sqlite3.Connection, no: int) -> set[int]:
        """The ids of all values that a lineage's checkpoints refer to."""
        rows = connection.execute("SELECT id, versions FROM checkpoints WHERE lineage = ?", (no,)).fetchall()
        return {number for row in rows for number in self.chains.from_json(*row).value_ids.values()}

    def _save_many(
        self, connection: sqlite3.Connection, saves: "Sequence[CheckpointRows | WriteRows]", fence: FileClaim | None
    ) -> None:
        thread, ns, _ = saves[0].key
        row: tuple[int, int] | None = connection.execute(_SELECT_LINEAGE, (thread, ns)).fetchone()
        now = time.time()
        if row is None:
            no = connection.execute(_INSERT_LINEAGE, (thread, ns, int(now), now)).lastrowid or 0
        else:
            no, touched = row
            if now - touched > _MINUTE:
                connection.execute("UPDATE lineages SET touched = ? WHERE no = ?", (int(now), no))
        if fence is not None:
            fence.check(connection)
        for rows in saves:
            if isinstance(rows, WriteRows):
                store_writes(connection, no, rows.key.id, rows.task, rows.path, rows.writes)
            elif not self._save(connection, no, rows, rows.changed):
                self._save(connection, no, rows, rows.all_values())

    def _save(
        self,
        connection: sqlite3.Connection,
        no: int,
        new: CheckpointRows,
        values: Mapping[str, Typed],
    ) -> bool:
        id, parent = new.key.id, new.parent
        base = None if parent is None else self.chains.load_link(connection, no, parent)
        versions = EMPTY if base is None else base.versions
        difference = versions.diff(new.channels, new.seen)
        filled = [channel for channel in difference.channels if channel in new.filled]
        if not values.keys() >= set(filled):
            return False
        value_ids = store_values(connection, [(name, values[name]) for name in filled])
        difference = Difference(difference.channels, difference.seen, value_ids, difference.removed)
        link = Link.full(id, EMPTY.apply((difference,))) if base is None else base.child(id, difference)
        row = (no, id, parent, link.drift, link.whole, new.run, *new.head, link.text)
        if not connection.execute(_INSERT, row).rowcount:
            # The checkpoint is stored again: its children must not change with it.
            children = connection.execute(
                "SELECT id FROM checkpoints WHERE lineage = ? AND parent = ? AND drift > 0", (no, id)
            ).fetchall()
            for (child,) in children:
                self.chains.make_full(connection, no, child)
            before = self.payloads(connection, no)
            connection.execute("DELETE FROM checkpoints WHERE lineage = ? AND id = ?", (no, id))
            drop_values(connection, before - self.payloads(connection, no))
            connection.execute(_INSERT, row)
        connection.execute(_SET_LATEST, {"no": no, "id": id})
        self.chains.remember(no, link)
        return True

    def _find(self, connection: sqlite3.Connection, thread: str, ns: str, id: str | None) -> StoredCheckpoint | None:
        no = self.number(connection, thread, ns)
        if no is None:
            return None
        latest = latest_id(connection, no)
        return None if latest is None else self.load_one(connection, Key(thread, ns, id or latest), no, {}, _accept_all)

    def _load_all(
        self, connection: sqlite3.Connection, keys: Sequence[Key], matches: Callable[[str, bytes], bool]
    ) -> list[StoredCheckpoint]:
        memos: dict[int, dict[str, Versions]] = {}
        checkpoints: list[StoredCheckpoint] = []
        for key in reversed(keys):  # oldest first, as each is a difference to an older one
            no = self.number(connection, key.thread, key.ns)
            if no is not None and (stored := self.load_one(connection, key, no, memos.setdefault(no, {}), matches)):
                checkpoints.append(stored)
        return checkpoints[::-1]

    def load_one(
        self,
        connection: sqlite3.Connection,
        key: Key,
        no: int,
        memo: dict[str, Versions],
        matches: Callable[[str, bytes], bool],
        channels: NameFilter | None = None,
    ) -> StoredCheckpoint | None:
        """A checkpoint of a lineage; None if it does not exist, or its head does not match.

        Args:
            connection: a connection in a transaction.
            key: the checkpoint.
            no: the number of its lineage.
            memo: see `Chains.versions`.
            matches: whether a head matches.
            channels: the channels whose values and writes are loaded; None for all.
        """
        row = connection.execute(
            "SELECT parent, kind, head FROM checkpoints WHERE lineage = ? AND id = ?", (no, key.id)
        ).fetchone()
        if row is None or not matches(row[1], row[2]):
            return None
        versions, writes = self.chains.versions(connection, no, key.id, memo), load_writes(connection, no, key.id)
        value_ids = versions.value_ids
        if channels is not None:
            value_ids = {name: number for name, number in value_ids.items() if channels(name)}
            writes = [write for write in writes if channels(write[1])]
        return StoredCheckpoint(key, row[0], versions, row[1:], load_values(connection, value_ids), writes)


def latest_id(connection: sqlite3.Connection, no: int) -> str | None:
    """The id of the checkpoint that was written last in a lineage; None if it has none.

    That is the one with the greatest id, unless a process whose clock was behind wrote without having read the thread. Ids that
    this process makes from now on are greater.
    """
    row: tuple[str | None, str | None] | None = connection.execute(_LATEST, (no,)).fetchone()
    if row is None:
        return None
    latest, greatest = row
    move_past(greatest)
    return latest or greatest


def _accept_all(kind: str, head: bytes) -> bool:
    return True
