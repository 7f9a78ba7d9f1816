"""Checkpoints newest first, a page at a time: what `list` and `alist` share.

Where each thread stands: its latest checkpoint, read without those before it.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from crewgraph.storage.checkpoints.codec import Codec
from crewgraph.storage.checkpoints.threads import Key, StoredCheckpoint, Threads

__all__ = ["Latest", "LatestCheckpoints", "Listing", "Wanted"]


_PAGE = 32  # checkpoints read in one transaction


class Listing:
    """The checkpoints that meet some conditions, as they were when the first page was taken."""

    def __init__(
        self,
        threads: Threads,
        codec: Codec,
        config: RunnableConfig | None,
        *,
        filter: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> None:
        self._threads = threads
        self._codec = codec
        self._config = config
        self._filter = dict(filter or {})
        self._before = before
        self._left = limit
        self._keys: list[Key] | None = None

    def page(self) -> list[CheckpointTuple]:
        """The next checkpoints; none at the end."""
        if self._keys is None:
            self._keys = self._found()
        while self._keys and (self._left is None or self._left > 0):
            keys, self._keys = self._keys[:_PAGE], self._keys[_PAGE:]
            page = [self._codec.checkpoint_tuple(stored) for stored in self._threads.load(keys, self._wanted)]
            page = page[: self._left]
            if self._left is not None:
                self._left -= len(page)
            if page:
                return page
        return []

    def _found(self) -> list[Key]:
        names: Mapping[str, Any] = (self._config or {}).get("configurable") or {}
        before: Mapping[str, Any] = (self._before or {}).get("configurable") or {}
        thread = names.get("thread_id")
        return self._threads.keys(
            None if thread is None else str(thread),
            names.get("checkpoint_ns"),
            names.get("checkpoint_id") or None,
            before.get("checkpoint_id") or None,
            None if self._filter else self._left,
        )

    def _wanted(self, kind: str, head: bytes) -> bool:
        if not self._filter:
            return True
        metadata = self._codec.metadata(kind, head)
        return all(metadata.get(key) == value for key, value in self._filter.items())


_LATEST_PAGE = 64  # threads read in one transaction

Wanted = Callable[[str], bool]
"""Whether a name is one to be read."""

_SELECT_THREADS = (
    "SELECT no, thread, created, touched, (SELECT max(id) FROM checkpoints WHERE lineage = no) AS latest FROM lineages "
    "WHERE ns = '' AND latest NOT NULL ORDER BY latest DESC"
)
_SELECT_LATEST = "SELECT id, parent, kind, head FROM checkpoints WHERE lineage = ? ORDER BY id DESC LIMIT 1"


class Latest(NamedTuple):
    """Where a thread stands."""

    checkpoint: CheckpointTuple
    """The latest of its own namespace; of values and writes it holds those that were asked for."""

    created: float | None
    """When the thread began, in seconds since the epoch; None where that is not known."""

    touched: float
    """When anything was written to it last, to the minute; never later than that was."""


class _Thread(NamedTuple):
    no: int
    name: str
    created: float
    touched: int


class LatestCheckpoints:
    """The latest checkpoints of the threads that meet some conditions, those written last first, a page at a time."""

    def __init__(
        self, threads: Threads, codec: Codec, *, filter: Mapping[str, Any] | None, threads_of: Wanted, channels: Wanted
    ) -> None:
        self._threads = threads
        self._codec = codec
        self._filter = dict(filter or {})
        self._named, self._channels = threads_of, channels
        self._left: list[_Thread] | None = None

    def page(self) -> list[Latest]:
        """The next ones; none at the end."""
        if self._left is None:
            self._left = self._found()
        while self._left:
            lineages, self._left = self._left[:_LATEST_PAGE], self._left[_LATEST_PAGE:]
            if page := self._threads.database.read(self._loaded, lineages):
                return [
                    Latest(self._codec.checkpoint_tuple(one), thread.created or None, thread.touched)
                    for one, thread in page
                ]
        return []

    def _found(self) -> list[_Thread]:
        rows = self._threads.database.read(lambda connection: connection.execute(_SELECT_THREADS).fetchall())
        return [_Thread(*row[:-1]) for row in rows if self._named(row[1])]

    def _loaded(
        self, connection: sqlite3.Connection, lineages: Sequence[_Thread]
    ) -> list[tuple[StoredCheckpoint, _Thread]]:
        # What is the latest is asked for again: a run that goes on may have removed the one that was the latest before.
        found: list[tuple[StoredCheckpoint, _Thread]] = []
        for thread in lineages:
            row = connection.execute(_SELECT_LATEST, (thread.no,)).fetchone()
            if row is not None and self._is_wanted(*row[2:]):
                found.append((self._stored(connection, thread.no, thread.name, *row), thread))
        return found

    def _is_wanted(self, kind: str, head: bytes) -> bool:
        if not self._filter:
            return True
        metadata = self._codec.metadata(kind, head)
        return all(metadata.get(key) == value for key, value in self._filter.items())

    def _stored(
        self, connection: sqlite3.Connection, no: int, thread: str, id: str, parent: str | None, kind: str, head: bytes
    ) -> StoredCheckpoint:
        versions = self._threads.chains.versions(connection, no, id, {})
        places = {channel: place for channel, place in versions.places.items() if self._channels(channel)}
        values = self._threads.values.at(connection, places)
        writes = [one for one in self._threads.values.writes(connection, no, id) if self._channels(one[1])]
        return StoredCheckpoint(Key(thread, "", id), parent, versions, (kind, head), values, writes)
