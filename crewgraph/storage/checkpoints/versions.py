"""The versions of channels at a checkpoint, where their values are, and what each node has seen of them.

All of it grows with the graph. Stored whole in every checkpoint, a run of n tasks would take n² bytes.

Checkpoints as chains of differences: each holds what changed since its parent, now and then one is whole.

A checkpoint is whole when the differences since the last whole one would take twice the room that one did. So
the bytes per superstep do not grow with the graph, and reading walks a bounded chain.
"""

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

from crewgraph.storage.database import damaged

__all__ = ["EMPTY", "Chains", "Difference", "Link", "Version", "Versions"]


Version = str | int | float
"""A channel's version: of this saver text, of others also a number."""

_T = TypeVar("_T")
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class Difference(NamedTuple):
    """What is not as it was at the parent checkpoint."""

    channels: Mapping[str, Version]
    """Channels with another version."""

    seen: Mapping[str, Mapping[str, Version]]
    """Nodes that have seen other versions, with all they have seen."""

    places: Mapping[str, int]
    """The numbers of the values of these channels; a channel that was emptied has none."""

    gone: tuple[list[str], list[str]] = ([], [])
    """Channels, and nodes, that are no more."""

    def text(self) -> str:
        """As JSON: names stand once under their version, as most change together."""
        groups: dict[Version, dict[str, int | None]] = {}
        for channel, version in self.channels.items():
            groups.setdefault(version, {})[channel] = self.places.get(channel)
        parts = [list(groups.items()), self.seen]
        return _encode([*parts, *self.gone] if any(self.gone) else parts)

    @classmethod
    def read(cls, text: str) -> "Difference":
        """The difference that was written as JSON.

        Raises:
            AttributeError, TypeError: it is other JSON.
            ValueError: it is no JSON.
        """
        groups, seen, *gone = json.loads(text)
        if not all(isinstance(versions, dict) for versions in seen.values()):
            raise TypeError("what a node has seen is no object")
        channels: dict[str, Version] = {}
        places: dict[str, int] = {}
        for version, names in groups:
            for channel, place in names.items():
                channels[channel] = version
                if isinstance(place, int):
                    places[channel] = place
                elif place is not None:
                    raise TypeError("the number of a value is no number")
        return cls(channels, seen, places, (gone[0], gone[1])) if gone else cls(channels, seen, places)


class Versions(NamedTuple):
    """The versions at one checkpoint; the maps are never changed."""

    channels: Mapping[str, Version]
    """Channel to its version."""

    seen: Mapping[str, Mapping[str, Version]]
    """Node to the versions of the channels it has read."""

    places: Mapping[str, int]
    """Channel to the number of its value."""

    def text(self) -> str:
        """As JSON, the difference to no versions."""
        return Difference(*self).text()

    def compared(self, channels: Mapping[str, Version], seen: Mapping[str, Mapping[str, Version]]) -> Difference:
        """What is different at a child; the places of its values are still to be filled in."""
        new_channels, new_seen = _changed(channels, self.channels), _changed(seen, self.seen)
        return Difference(
            new_channels,
            {node: dict(versions) for node, versions in new_seen.items()},
            {},
            (_gone(channels, self.channels, new_channels), _gone(seen, self.seen, new_seen)),
        )

    def then(self, differences: Iterable[Difference]) -> "Versions":
        """These versions after some differences, oldest first."""
        channels, seen, places = dict(self.channels), dict(self.seen), dict(self.places)
        for difference in differences:
            for channel in difference.channels:
                places.pop(channel, None)
            for channel in difference.gone[0]:
                channels.pop(channel, None)
                places.pop(channel, None)
            for node in difference.gone[1]:
                seen.pop(node, None)
            channels.update(difference.channels)
            seen.update(difference.seen)
            places.update(difference.places)
        return Versions(channels, seen, places)


EMPTY = Versions({}, {}, {})
"""The versions before the first checkpoint."""


def _changed(new: Mapping[str, _T], old: Mapping[str, _T]) -> dict[str, _T]:
    if not old:
        return dict(new)
    return {key: value for key, value in new.items() if old.get(key) != value}


def _gone(new: Mapping[str, _T], old: Mapping[str, _T], changed: Mapping[str, _T]) -> list[str]:
    added = 0
    for key in changed:
        if key not in old:
            added += 1
    return [] if len(new) - added == len(old) else [key for key in old if key not in new]


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
