"""Paged reading of checkpoints, newest first.

`checkpoint_pages` serves `list` and `alist`; `latest_checkpoints` reads only the latest checkpoint of each thread.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from crewgraph.schema import PlainMapping
from crewgraph.storage.checkpoints.codec import Codec
from crewgraph.storage.checkpoints.threads import Key, NameFilter, StoredCheckpoint, Threads, latest_id

_PAGE = 32  # checkpoints read in one transaction


def checkpoint_pages(
    threads: Threads,
    codec: Codec,
    config: RunnableConfig | None,
    *,
    filter: Mapping[str, object] | None,
    before: RunnableConfig | None,
    limit: int | None,
) -> Iterator[list[CheckpointTuple]]:
    """Yield the checkpoints that match some conditions, as of the first page."""
    names: PlainMapping = (config or {}).get("configurable") or {}
    earlier: PlainMapping = (before or {}).get("configurable") or {}
    thread = names.get("thread_id")
    keys = threads.keys(
        None if thread is None else str(thread),
        names.get("checkpoint_ns"),
        names.get("checkpoint_id") or None,
        earlier.get("checkpoint_id") or None,
        None if filter else limit,
    )
    matches = codec.filter(filter or {})
    for start in range(0, len(keys), _PAGE):
        stored = threads.load(keys[start : start + _PAGE], matches)[:limit]
        if stored:
            yield [codec.checkpoint_tuple(checkpoint) for checkpoint in stored]
        if limit is not None and (limit := limit - len(stored)) <= 0:
            return


_LATEST_PAGE = 64  # threads read in one transaction

_SELECT_THREADS = (
    "SELECT no, thread, created, touched, (SELECT max(id) FROM checkpoints WHERE lineage = no) AS greatest FROM lineages "
    "WHERE ns = '' AND greatest NOT NULL ORDER BY greatest DESC"
)


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


def latest_checkpoints(
    threads: Threads,
    codec: Codec,
    *,
    filter: Mapping[str, object] | None,
    threads_of: NameFilter,
    channels: NameFilter,
) -> Iterator[LatestCheckpoint]:
    """Yield the latest checkpoints of the matching threads, most recently written first."""
    matches = codec.filter(filter or {})

    def load(connection: sqlite3.Connection, lineages: Sequence[_Thread]) -> list[tuple[StoredCheckpoint, _Thread]]:
        # Read the latest id again: an active run may have removed the former one.
        page: list[tuple[StoredCheckpoint, _Thread]] = []
        for thread in lineages:
            id = latest_id(connection, thread.no)
            key = Key(thread.name, "", id or "")
            if (stored := threads.load_one(connection, key, thread.no, {}, matches, channels)) is not None:
                page.append((stored, thread))
        return page

    rows = threads.database.read(lambda connection: connection.execute(_SELECT_THREADS).fetchall())
    found = [_Thread(*row[:-1]) for row in rows if threads_of(row[1])]
    for start in range(0, len(found), _LATEST_PAGE):
        for stored, thread in threads.database.read(load, found[start : start + _LATEST_PAGE]):
            yield LatestCheckpoint(codec.checkpoint_tuple(stored), thread.created, thread.touched)
