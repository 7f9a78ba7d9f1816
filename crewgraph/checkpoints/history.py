"""What a `DeltaChannel` is rebuilt from: the ancestors' writes, back to the last that holds its value."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from crewgraph.checkpoints.threads import Threads
from crewgraph.checkpoints.values import Typed
from crewgraph.checkpoints.versions import Versions

__all__ = ["Past", "pasts"]

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
