"""Paged reading of checkpoints, newest first.

`CheckpointListing` serves `list` and `alist`; `LatestCheckpoints` reads only the latest checkpoint of each thread.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from crewgraph.schema import PlainMapping
from crewgraph.storage.checkpoints.codec import Codec
from crewgraph.storage.checkpoints.threads import Key, StoredCheckpoint, Threads, latest_id
from crewgraph.storage.checkpoints.values import load_values, load_writes

_PAGE = 32  # checkpoints read in one transaction


class CheckpointListing:
    """The checkpoints that match some conditions, as of the first page."""

    def __init__(
        self,
        threads: Threads,
        codec: Codec,
        config: RunnableConfig | None,
        *,
        filter: Mapping[str, object] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> None:
        self._threads = threads
        self._codec = codec
        self._config = config
        self._is_filtered, self._matches = bool(filter), codec.filter(filter or {})
        self._before = before
        self._remaining = limit
        self._keys: list[Key] | None = None

    def page(self) -> list[CheckpointTuple]:
        """Return the next checkpoints; an empty list at the end."""
        if self._keys is None:
            self._keys = self._load_keys()
        while self._keys and (self._remaining is None or self._remaining > 0):
            keys, self._keys = self._keys[:_PAGE], self._keys[_PAGE:]
            page = [self._codec.checkpoint_tuple(stored) for stored in self._threads.load(keys, self._matches)]
            page = page[: self._remaining]
            if self._remaining is not None:
                self._remaining -= len(page)
            if page:
                return page
        return []

    def _load_keys(self) -> list[Key]:
        names: PlainMapping = (self._config or {}).get("configurable") or {}
        before: PlainMapping = (self._before or {}).get("configurable") or {}
        thread = names.get("thread_id")
        return self._threads.keys(
            None if thread is None else str(thread),
            names.get("checkpoint_ns"),
            names.get("checkpoint_id") or None,
            before.get("checkpoint_id") or None,
            None if self._is_filtered else self._remaining,
        )


_LATEST_PAGE = 64  # threads read in one transaction

NameFilter = Callable[[str], bool]
"""Selects the threads or channels to read, by name."""

_SELECT_THREADS = (
    "SELECT no, thread, created, touched, (SELECT max(id) FROM checkpoints WHERE lineage = no) AS greatest FROM lineages "
    "WHERE ns = '' AND greatest NOT NULL ORDER BY greatest DESC"
)
_SELECT = "SELECT id, parent, kind, head FROM checkpoints WHERE lineage = ? AND id = ?"


class LatestCheckpoint(NamedTuple):
    """The latest checkpoint of a thread."""

    checkpoint: CheckpointTuple
    """The latest of the root namespace, with only the requested values and writes."""

    created: float | None
    """When the thread was created, in seconds since the epoch; None if unknown."""

    touched: float
    """When the thread was last written, in seconds since the epoch, rounded down by up to a minute."""


class _Thread(NamedTuple):
    no: int
    name: str
    created: float
    touched: int


class LatestCheckpoints:
    """The latest checkpoints of the matching threads, most recently written first, a page at a time."""

    def __init__(
        self,
        threads: Threads,
        codec: Codec,
        *,
        filter: Mapping[str, object] | None,
        threads_of: NameFilter,
        channels: NameFilter,
    ) -> None:
        self._threads = threads
        self._codec = codec
        self._matches = codec.filter(filter or {})
        self._thread_filter, self._channel_filter = threads_of, channels
        self._remaining: list[_Thread] | None = None

    def page(self) -> list[LatestCheckpoint]:
        """Return the next checkpoints; an empty list at the end."""
        if self._remaining is None:
            self._remaining = self._load_keys()
        while self._remaining:
            lineages, self._remaining = self._remaining[:_LATEST_PAGE], self._remaining[_LATEST_PAGE:]
            if page := self._threads.database.read(self._load_page, lineages):
                return [
                    LatestCheckpoint(self._codec.checkpoint_tuple(stored), thread.created, thread.touched)
                    for stored, thread in page
                ]
        return []

    def _load_keys(self) -> list[_Thread]:
        rows = self._threads.database.read(lambda connection: connection.execute(_SELECT_THREADS).fetchall())
        return [_Thread(*row[:-1]) for row in rows if self._thread_filter(row[1])]

    def _load_page(
        self, connection: sqlite3.Connection, lineages: Sequence[_Thread]
    ) -> list[tuple[StoredCheckpoint, _Thread]]:
        # Read the latest id again: an active run may have removed the former one.
        page: list[tuple[StoredCheckpoint, _Thread]] = []
        for thread in lineages:
            row = connection.execute(_SELECT, (thread.no, latest_id(connection, thread.no))).fetchone()
            if row is not None and self._matches(*row[2:]):
                page.append((self._stored(connection, thread.no, thread.name, *row), thread))
        return page

    def _stored(
        self, connection: sqlite3.Connection, no: int, thread: str, id: str, parent: str | None, kind: str, head: bytes
    ) -> StoredCheckpoint:
        versions = self._threads.chains.versions(connection, no, id, {})
        value_ids = {channel: place for channel, place in versions.value_ids.items() if self._channel_filter(channel)}
        values = load_values(connection, value_ids)
        writes = [write for write in load_writes(connection, no, id) if self._channel_filter(write[1])]
        return StoredCheckpoint(Key(thread, "", id), parent, versions, (kind, head), values, writes)
