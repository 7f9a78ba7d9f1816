"""Checkpoints as chains of differences: each holds what changed since its parent, now and then one is whole.

A checkpoint is whole when the differences since the last whole one would take twice the room that one did. So
the bytes per superstep do not grow with the graph, and reading walks a bounded chain.
"""

import sqlite3
from collections import OrderedDict
from typing import NamedTuple

from crewgraph.checkpoints.faults import damaged
from crewgraph.checkpoints.versions import EMPTY, Difference, Versions

__all__ = ["Chains", "Link"]

_REACH = 2  # how many times the size of a whole checkpoint its differences may add up to
_ROW = 64  # bytes: what a row costs beside its text, so that chains of small differences end too
_KEPT = 256  # lineages whose latest checkpoint stays in memory


class Link(NamedTuple):
    """The versions at a checkpoint, and how they are stored."""

    id: str
    """The checkpoint."""

    versions: Versions
    """Its versions, all of them."""

    drift: int
    """Bytes of the differences since the last whole checkpoint; 0: this one is whole."""

    whole: int
    """Bytes of the last whole checkpoint."""

    def child(self, id: str, difference: Difference) -> tuple["Link", str]:
        """The link of a child, and the text that is stored for it."""
        text = difference.text()
        versions = self.versions.then((difference,))
        drift = self.drift + len(text) + _ROW
        if drift > _REACH * self.whole:
            return Link.alone(id, versions)
        return Link(id, versions, drift, self.whole), text

    @staticmethod
    def alone(id: str, versions: Versions) -> tuple["Link", str]:
        """The link of a checkpoint that stands for itself, and the text that is stored for it."""
        text = versions.text()
        return Link(id, versions, 0, len(text)), text


class Chains:
    """The chains of a database; the latest link of each lineage is remembered, the next is made from it.

    What is remembered is checked before it is used: another process may have removed or changed the rows.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._latest: OrderedDict[int, Link] = OrderedDict()

    def parent(self, connection: sqlite3.Connection, no: int, id: str) -> Link | None:
        """The link of a checkpoint that is about to have a child; None if it is not there."""
        row: tuple[int, int] | None = connection.execute(
            "SELECT drift, whole FROM checkpoints WHERE lineage = ? AND id = ?", (no, id)
        ).fetchone()
        if row is None:
            return None
        latest = self._latest.get(no)
        if latest is not None and latest.id == id and latest[2:] == row:
            return latest
        return Link(id, self.versions(connection, no, id, {}), *row)

    def remember(self, no: int, link: Link) -> None:
        """Keep a lineage's latest link."""
        self._latest[no] = link
        self._latest.move_to_end(no)
        if len(self._latest) > _KEPT:
            self._latest.popitem(last=False)

    def forget(self) -> None:
        """Keep nothing."""
        self._latest.clear()

    def versions(self, connection: sqlite3.Connection, no: int, id: str, memo: dict[str, Versions]) -> Versions:
        """The versions at a checkpoint that is there; the memo holds those found before in this lineage.

        Raises:
            StorageError: the chain is broken.
        """
        chain: dict[str, Difference] = {}
        cursor: str | None = id
        while cursor is not None and cursor not in memo:
            row: tuple[str | None, int, str] | None = connection.execute(
                "SELECT parent, drift, versions FROM checkpoints WHERE lineage = ? AND id = ?", (no, cursor)
            ).fetchone()
            if row is None or cursor in chain:
                what = "needs itself" if row else f"needs `{cursor}`, which is missing"
                raise damaged(f"checkpoint `{id}` {what}", self._path)
            parent, drift, text = row
            chain[cursor] = self.read(cursor, text)
            cursor = parent if drift else None
        base = EMPTY if cursor is None else memo[cursor]
        memo[id] = base.then(reversed(chain.values()))
        return memo[id]

    def read(self, id: str, text: str) -> Difference:
        """The difference that is stored for a checkpoint.

        Raises:
            StorageError: it makes no sense.
        """
        try:
            return Difference.read(text)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise damaged(f"the versions of checkpoint `{id}` make no sense ({error})", self._path) from error

    def make_whole(self, connection: sqlite3.Connection, no: int, id: str) -> None:
        """Let a checkpoint stand for itself, before its parent goes."""
        link, text = Link.alone(id, self.versions(connection, no, id, {}))
        connection.execute(
            "UPDATE checkpoints SET versions = ?, drift = 0, whole = ? WHERE lineage = ? AND id = ?",
            (text, link.whole, no, id),
        )
