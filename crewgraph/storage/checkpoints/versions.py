"""The versions of channels at a checkpoint, the ids of their values, and what each node has seen of them.

All of it grows with the graph: stored in full at every checkpoint, a run of n tasks would take n² bytes. So checkpoints form
chains of differences, and a full one is stored when the differences since the last full one would take twice its size. The
bytes per superstep do not grow with the graph, and reading follows a bounded chain.
"""

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from crewgraph.storage.checkpoints.schema import damaged_checkpoints
from crewgraph.text import json_encoder

Version = str | int | float
"""A channel's version: text from this checkpointer, possibly a number from others."""

_encode = json_encoder()


class Difference(NamedTuple):
    """The changes since the parent checkpoint."""

    channels: Mapping[str, Version]
    """The new versions of channels that changed."""

    seen: Mapping[str, Mapping[str, Version]]
    """Nodes that have seen other versions, with all versions that they have seen."""

    value_ids: Mapping[str, int]
    """The ids of the values of these channels; a channel that was emptied has none."""

    removed: tuple[list[str], list[str]] = ([], [])
    """Channels and nodes that no longer exist."""

    def to_json(self) -> str:
        """Encode as JSON; channels are grouped by version, as most change together."""
        groups: dict[Version, dict[str, int | None]] = {}
        for channel, version in self.channels.items():
            groups.setdefault(version, {})[channel] = self.value_ids.get(channel)
        parts = [list(groups.items()), self.seen]
        return _encode([*parts, *self.removed] if any(self.removed) else parts)

    @classmethod
    def from_json(cls, text: str) -> "Difference":
        """Decode what `to_json` returned.

        Raises:
            AttributeError, TypeError: the JSON has another shape.
            ValueError: it is not JSON.
        """
        groups, seen, *gone = json.loads(text)
        if not all(isinstance(versions, dict) for versions in seen.values()):
            raise TypeError("the versions that a node has seen are not an object")
        channels: dict[str, Version] = {}
        value_ids: dict[str, int] = {}
        for version, names in groups:
            for channel, place in names.items():
                channels[channel] = version
                if isinstance(place, int):
                    value_ids[channel] = place
                elif place is not None:
                    raise TypeError("the id of a value is not a number")
        return cls(channels, seen, value_ids, (gone[0], gone[1])) if gone else cls(channels, seen, value_ids)


class Versions(NamedTuple):
    """The versions at one checkpoint. The mappings are never mutated."""

    channels: Mapping[str, Version]
    """Version by channel."""

    seen: Mapping[str, Mapping[str, Version]]
    """Versions of the channels that a node has read, by node."""

    value_ids: Mapping[str, int]
    """Value id by channel."""

    def to_json(self) -> str:
        """Encode as JSON, as the difference from no versions."""
        return Difference(*self).to_json()

    def diff(
        self,
        channels: Mapping[str, Version],
        seen: Mapping[str, Mapping[str, Version]],
    ) -> Difference:
        """The difference of a child from these versions, without the ids of its values.

        Args:
            channels: the child's versions by channel.
            seen: what nodes have seen at the child.
        """
        old_channels, old_seen = self.channels, self.seen
        return Difference(
            {name: version for name, version in channels.items() if old_channels.get(name) != version},
            {node: dict(versions) for node, versions in seen.items() if old_seen.get(node) != versions},
            {},
            (sorted(old_channels.keys() - channels.keys()), sorted(old_seen.keys() - seen.keys())),
        )

    def apply(self, differences: Iterable[Difference]) -> "Versions":
        """These versions after some differences, oldest first."""
        channels, seen, value_ids = dict(self.channels), dict(self.seen), dict(self.value_ids)
        for difference in differences:
            for channel in difference.channels:
                value_ids.pop(channel, None)
            for channel in difference.removed[0]:
                channels.pop(channel, None)
                value_ids.pop(channel, None)
            for node in difference.removed[1]:
                seen.pop(node, None)
            channels.update(difference.channels)
            seen.update(difference.seen)
            value_ids.update(difference.value_ids)
        return Versions(channels, seen, value_ids)


EMPTY = Versions({}, {}, {})
"""The versions before the first checkpoint."""


_MAX_DRIFT_RATIO = 2  # how many times the size of a whole checkpoint its differences may add up to
_ROW_OVERHEAD = 64  # bytes: what a row costs beside its text, so that chains of small differences end too
_MAX_CACHED = 256  # lineages whose latest checkpoint stays in memory


class Link(NamedTuple):
    """The versions at a checkpoint, and how they are stored."""

    id: str
    """The checkpoint's id."""

    versions: Versions
    """All of its versions."""

    drift: int
    """Bytes of the differences since the last full checkpoint; 0 if this one is full."""

    whole: int
    """Bytes of the last full checkpoint."""

    text: str
    """What is stored for it."""

    def child(self, id: str, difference: Difference) -> "Link":
        """The link of a child."""
        text = difference.to_json()
        versions = self.versions.apply((difference,))
        drift = self.drift + len(text) + _ROW_OVERHEAD
        if drift > _MAX_DRIFT_RATIO * self.whole:
            return Link.full(id, versions)
        return Link(id, versions, drift, self.whole, text)

    @staticmethod
    def full(id: str, versions: Versions) -> "Link":
        """The link of a checkpoint stored in full."""
        text = versions.to_json()
        return Link(id, versions, 0, len(text), text)


class Chains:
    """The chains of a database, with the latest link of each lineage cached for the next checkpoint.

    The cached link is verified before it is used: another process may have removed or changed the rows.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._latest: OrderedDict[int, Link] = OrderedDict()

    def load_link(self, connection: sqlite3.Connection, no: int, id: str) -> Link | None:
        """The link of a checkpoint that is about to get a child; None if it does not exist."""
        row: tuple[int, int, str] | None = connection.execute(
            "SELECT drift, whole, versions FROM checkpoints WHERE lineage = ? AND id = ?", (no, id)
        ).fetchone()
        if row is None:
            return None
        latest = self._latest.get(no)
        if latest is not None and latest.id == id and latest[2:] == row:
            return latest
        return Link(id, self.versions(connection, no, id, {}), *row)

    def remember(self, no: int, link: Link) -> None:
        """Cache a lineage's latest link."""
        self._latest[no] = link
        self._latest.move_to_end(no)
        if len(self._latest) > _MAX_CACHED:
            self._latest.popitem(last=False)

    def clear_cache(self) -> None:
        """Drop all cached links."""
        self._latest.clear()

    def versions(self, connection: sqlite3.Connection, no: int, id: str, memo: dict[str, Versions]) -> Versions:
        """The versions at an existing checkpoint; `memo` caches those already read in this lineage, by checkpoint id.

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
                problem = "needs itself" if row else f"needs `{cursor}`, which is missing"
                raise damaged_checkpoints(f"checkpoint `{id}` {problem}", self._path)
            parent, drift, text = row
            chain[cursor] = self.from_json(cursor, text)
            cursor = parent if drift else None
        base = EMPTY if cursor is None else memo[cursor]
        memo[id] = base.apply(reversed(chain.values()))
        return memo[id]

    def from_json(self, id: str, text: str) -> Difference:
        """Decode the difference that is stored for a checkpoint.

        Raises:
            StorageError: it cannot be decoded.
        """
        try:
            return Difference.from_json(text)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise damaged_checkpoints(
                f"the versions of checkpoint `{id}` cannot be decoded ({error})", self._path
            ) from error

    def make_full(self, connection: sqlite3.Connection, no: int, id: str) -> None:
        """Store a checkpoint in full, so that its parent can be deleted."""
        link = Link.full(id, self.versions(connection, no, id, {}))
        connection.execute(
            "UPDATE checkpoints SET versions = ?, drift = 0, whole = ? WHERE lineage = ? AND id = ?",
            (link.text, link.whole, no, id),
        )
