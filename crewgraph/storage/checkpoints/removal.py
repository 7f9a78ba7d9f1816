"""Removing and copying threads and checkpoints, each in one transaction; what remains stays readable.

`apply_retention` removes old threads when a database is opened.
"""

import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Collection, Sequence
from typing import cast

from langgraph.checkpoint.base import CheckpointTuple

from crewgraph.core.journal import CHANNEL
from crewgraph.core.pregel import ERROR, has_next, leads_on
from crewgraph.core.questions import ANSWER
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import StorageError
from crewgraph.schema import PlainMapping
from crewgraph.storage.checkpoints.threads import Threads, latest_id
from crewgraph.storage.checkpoints.values import drop_values
from crewgraph.storage.checkpoints.versions import Versions
from crewgraph.storage.claims.files import delete_epochs
from crewgraph.storage.database import MEMORY, Database

_COUNTERS = "counters_since_delta_snapshot"
_SELECT_ALL = "SELECT id, parent, drift, whole, run, kind, head, versions FROM checkpoints WHERE lineage = ?"
_INSERT_CHECKPOINT = "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_COPY = "INSERT OR IGNORE INTO writes SELECT ?, checkpoint, task, idx, path, channel, kind, data FROM writes WHERE lineage = ?"


class Removal:
    """Removes and copies the checkpoints of a database."""

    def __init__(self, threads: Threads, metadata: Callable[[str, bytes], PlainMapping]) -> None:
        self._threads = threads
        self._metadata = metadata

    def delete(self, threads: Sequence[str], *, shrink: bool = True) -> None:
        """Delete threads with all their namespaces."""

        def delete(connection: sqlite3.Connection) -> None:
            for thread in threads:
                for no in _lineages(connection, thread).values():
                    self._delete_lineage(connection, no)
                delete_epochs(connection, thread)

        self._remove(threads, delete, shrink=shrink)

    def keep_latest(self, threads: Sequence[str], count: int, *, shrink: bool = True) -> None:
        """Keep only the latest checkpoints of every namespace, and those that a `DeltaChannel` is rebuilt from.

        The namespace of a subgraph call is deleted together with the checkpoint that the call was made from.
        """

        def keep_latest(connection: sqlite3.Connection) -> None:
            for thread in threads:
                lineages = _lineages(connection, thread)
                removed = self._keep_latest_in(connection, lineages.pop(""), count) if "" in lineages else set[str]()
                for ns, no in lineages.items():
                    if ":" in ns and self._parent_checkpoint(connection, no) in removed:
                        self._delete_lineage(connection, no)
                    else:
                        self._keep_latest_in(connection, no, count)

        self._remove(threads, keep_latest, shrink=shrink)

    def delete_runs(self, runs: Sequence[str]) -> None:
        """Delete the checkpoints that some runs created.

        Raises:
            StorageError: the value of a `DeltaChannel` at another checkpoint is rebuilt from one of them.
        """

        def delete_runs(connection: sqlite3.Connection) -> None:
            removed: dict[int, set[str]] = {}
            for run in runs:
                for no, id in connection.execute(
                    "SELECT lineage, id FROM checkpoints WHERE run = ?", (run,)
                ).fetchall():
                    removed.setdefault(no, set()).add(id)
            for no, ids in removed.items():
                all_ids = _checkpoint_ids(connection, no)
                for id in all_ids - ids:
                    if needed := self._delta_ancestors(connection, no, id) & ids:
                        raise StorageError(
                            f"Checkpoint `{id}` rebuilds a DeltaChannel from `{min(needed)}`, which one of these "
                            "runs created. Nothing was deleted; delete or prune the whole thread."
                        )
                self._keep_only(connection, no, all_ids, all_ids - ids)

        self._remove(runs, delete_runs)

    def copy(self, source: str, target: str) -> None:
        """Copy a thread with all namespaces, checkpoints and writes; existing rows of the target are kept."""
        if source != target:
            self._threads.database.write(self._copy, source, target)

    def _remove(self, names: Sequence[str], work: Callable[[sqlite3.Connection], None], *, shrink: bool = True) -> None:
        if names:
            self._threads.database.write(work)
            if shrink:
                self._threads.database.shrink()

    def _keep_latest_in(self, connection: sqlite3.Connection, no: int, count: int) -> set[str]:
        ids = _checkpoint_ids(connection, no)
        if len(ids) <= count:
            return set()
        latest = latest_id(connection, no)
        heads = sorted(ids, key=lambda id: (id == latest, id))[-count:]
        needed = {ancestor for head in heads for ancestor in self._delta_ancestors(connection, no, head)}
        return self._keep_only(connection, no, ids, needed.union(heads))

    def _keep_only(self, connection: sqlite3.Connection, no: int, ids: set[str], retained: Collection[str]) -> set[str]:
        removed = ids.difference(retained)
        if not retained:
            self._delete_lineage(connection, no)
            return removed
        if not removed:
            return removed
        payloads = self._threads.payloads(connection, no)
        for id, parent in connection.execute("SELECT id, parent FROM checkpoints WHERE lineage = ?", (no,)).fetchall():
            if parent in removed and id in retained:
                self._threads.chains.make_full(connection, no, id)
                connection.execute("UPDATE checkpoints SET parent = NULL WHERE lineage = ? AND id = ?", (no, id))
        for table, column in (("writes", "checkpoint"), ("checkpoints", "id")):
            connection.executemany(
                f"DELETE FROM {table} WHERE lineage = ? AND {column} = ?", [(no, id) for id in removed]
            )
        connection.executemany(
            "UPDATE lineages SET latest = NULL WHERE no = ? AND latest = ?", [(no, id) for id in removed]
        )
        drop_values(connection, payloads - self._threads.payloads(connection, no))
        return removed

    def _delete_lineage(self, connection: sqlite3.Connection, no: int) -> None:
        drop_values(connection, self._threads.payloads(connection, no))
        connection.execute("DELETE FROM lineages WHERE no = ?", (no,))

    def _delta_ancestors(self, connection: sqlite3.Connection, no: int, id: str) -> set[str]:
        # A DeltaChannel holds a value only now and then; between, it is rebuilt from the writes of the
        # ancestors.
        chains, memo = self._threads.chains, dict[str, Versions]()
        row = connection.execute(
            "SELECT parent, kind, head FROM checkpoints WHERE lineage = ? AND id = ?", (no, id)
        ).fetchone()
        parent, needed = row[0], set(self._metadata(row[1], row[2]).get(_COUNTERS) or ())
        if not needed:
            return set()
        versions = chains.versions(connection, no, id, memo)
        needed = {channel for channel in needed if channel in versions.channels} - versions.value_ids.keys()
        ancestors: set[str] = set()
        while needed and parent is not None and parent not in ancestors:
            row = connection.execute(
                "SELECT parent FROM checkpoints WHERE lineage = ? AND id = ?", (no, parent)
            ).fetchone()
            if row is None:
                break
            ancestors.add(parent)
            needed -= chains.versions(connection, no, parent, memo).value_ids.keys()
            parent = row[0]
        return ancestors

    def _parent_checkpoint(self, connection: sqlite3.Connection, no: int) -> str | None:
        row = connection.execute(
            "SELECT kind, head FROM checkpoints WHERE lineage = ? AND id = ?", (no, latest_id(connection, no))
        ).fetchone()
        parents: dict[str, str] = {} if row is None else self._metadata(*row).get("parents") or {}
        return parents.get("")

    def _copy(self, connection: sqlite3.Connection, source: str, target: str) -> None:
        for ns, old in _lineages(connection, source).items():
            connection.execute(
                "INSERT INTO lineages (thread, ns, touched, created, latest) "
                "SELECT ?, ns, touched, created, latest FROM lineages WHERE no = ? "
                "ON CONFLICT DO NOTHING",
                (target, old),
            )
            new = self._threads.number(connection, target, ns)
            assert new is not None
            copies = {number: _copy_payload(connection, number) for number in self._threads.payloads(connection, old)}
            rows = connection.execute(_SELECT_ALL, (old,)).fetchall()
            for id, parent, drift, whole, run, kind, head, text in rows:
                difference = self._threads.chains.from_json(id, text)
                value_ids = {channel: copies[number] for channel, number in difference.value_ids.items()}
                row = (
                    new,
                    id,
                    parent,
                    drift,
                    whole,
                    run,
                    kind,
                    head,
                    difference._replace(value_ids=value_ids).to_json(),
                )
                connection.execute(_INSERT_CHECKPOINT, row)
            connection.execute(_COPY, (new, old))
            drop_values(connection, set(copies.values()) - self._threads.payloads(connection, new))


def _lineages(connection: sqlite3.Connection, thread: str) -> dict[str, int]:
    return dict(connection.execute("SELECT ns, no FROM lineages WHERE thread = ?", (thread,)).fetchall())


def _checkpoint_ids(connection: sqlite3.Connection, no: int) -> set[str]:
    return {id for (id,) in connection.execute("SELECT id FROM checkpoints WHERE lineage = ?", (no,))}


def _copy_payload(connection: sqlite3.Connection, number: int) -> int:
    if not number:
        return number
    copy = connection.execute(
        "INSERT INTO payloads (kind, data) SELECT kind, data FROM payloads WHERE no = ?", (number,)
    )
    return copy.lastrowid or 0


_DAY = 86_400
_retained_files: set[str] = set()
_lock = threading.Lock()


_CLOCK_JUMP = _DAY  # seconds


def apply_retention(
    database: Database,
    removal: Removal,
    days: float | None,
    max_bytes: int | None,
    finished: Callable[[Sequence[str]], Collection[str]],
) -> None:
    """Delete finished threads not written for some days, then the oldest ones while the database exceeds a size.

    Runs once per process and file. The most recently written thread is not deleted, nor is any by its age if nothing was
    written in the last day: then the clock of this process may be ahead.

    Args:
        database: the database.
        removal: removes its threads.
        days: the greatest age; None or 0 for none.
        max_bytes: the greatest size; None or 0 for none.
        finished: returns those of some threads whose runs have ended, and need no answer.
    """
    if database.path == MEMORY or not (days or max_bytes):
        return
    file = os.path.realpath(database.path)
    with _lock:
        if file in _retained_files:
            return
        _retained_files.add(file)
    ages, now = database.read(_ages), time.time()
    in_step = any(now - _CLOCK_JUMP <= touched for _, touched in ages if touched <= now + _CLOCK_JUMP)
    limit = now - days * _DAY if days and in_step else 0
    old = finished([thread for thread, touched in ages if touched < limit])
    removal.delete(list(old))
    removed = bool(old)
    if max_bytes and database.used_bytes() > max_bytes:
        left = [thread for thread, _ in ages if thread not in old]
        ended = finished(left[:-1])
        for oldest in (thread for thread in left if thread in ended):
            removal.delete([oldest])
            removed = True
            if database.used_bytes() <= max_bytes:
                break
        else:
            if len(left) > len(ended) + 1:
                warnings.warn(
                    f"the database `{database.path}` is larger than {max_bytes} bytes, but all that is left are runs that are "
                    "open or wait for an answer, which are only deleted on request: `crewgraph runs --status open` lists them, "
                    "`delete_thread` of the checkpointer deletes one",
                    stacklevel=user_stacklevel(),
                )
    if removed:
        database.shrink(fully=True)


_OPEN_FLOW = ("progress", "parked", "unsaved")
"""Channels of a flow that say what is in flight, waits for a person, or is to be saved again."""


def tells_the_end(channel: str) -> bool:
    """Whether `is_open` reads a channel's value or writes."""
    return leads_on(channel) or channel in (*_OPEN_FLOW, CHANNEL, ANSWER, ERROR)


def is_open(stored: CheckpointTuple) -> bool:
    """Whether the run with this latest checkpoint has not ended: it failed, was abandoned, or waits for an answer."""
    values = stored.checkpoint["channel_values"]
    if stored.pending_writes or has_next(values):
        return True
    progress, parked, unsaved = (cast("PlainMapping", values.get(name) or {}) for name in _OPEN_FLOW)
    if not isinstance(progress, dict) or "inflight" not in progress:  # a channel of somebody else's graph
        return False
    return bool(progress["inflight"] or parked) or (bool(unsaved) and unsaved["run"] == progress["run"])


def _ages(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    return connection.execute(
        "SELECT thread, max(touched) FROM lineages GROUP BY thread ORDER BY max(touched), max(no)"
    ).fetchall()
