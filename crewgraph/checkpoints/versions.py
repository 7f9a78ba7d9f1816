"""Which version every channel has at a checkpoint, and which each node has seen; stored as differences.

Both maps grow with the graph. Stored whole in every checkpoint, a run of n tasks would take n² bytes.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Difference", "Version", "Versions"]

Version = str | int | float
"""A channel's version: of this saver text, of others also a number."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not as it was at the parent checkpoint."""

    channels: Mapping[str, Version]
    """Channels with another version."""

    seen: Mapping[str, Mapping[str, Version]]
    """Nodes that have seen other versions, with all they have seen."""

    gone: tuple[list[str], list[str]] = ([], [])
    """Channels, and nodes, that are no more."""

    def text(self) -> str:
        """As JSON."""
        return _json([self.channels, self.seen, *(self.gone if any(self.gone) else ())])

    @classmethod
    def read(cls, text: str) -> "Difference":
        """The difference that `text` wrote.

        Raises:
            ValueError: the text is no such JSON.
        """
        channels, seen, *gone = json.loads(text)
        return cls(channels, seen, (gone[0], gone[1])) if gone else cls(channels, seen)


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions at one checkpoint; its maps are never changed."""

    channels: Mapping[str, Version]
    """Channel to its version."""

    seen: Mapping[str, Mapping[str, Version]]
    """Node to the versions of the channels it has read."""

    def text(self) -> str:
        """As JSON."""
        return _json([self.channels, self.seen])

    @classmethod
    def read(cls, text: str) -> "Versions":
        """The versions that `text` wrote.

        Raises:
            ValueError: the text is no such JSON.
        """
        channels, seen = json.loads(text)
        return cls(channels, seen)

    def since(self, base: "Versions") -> Difference:
        """What differs from the parent checkpoint's; its maps are copies."""
        channels = _changed(self.channels, base.channels)
        seen = _changed(self.seen, base.seen)
        return Difference(
            channels,
            {node: dict(versions) for node, versions in seen.items()},
            (_gone(self.channels, base.channels, channels), _gone(self.seen, base.seen, seen)),
        )

    def then(self, differences: Iterable[Difference]) -> "Versions":
        """These versions after some differences, oldest first."""
        channels, seen = dict(self.channels), dict(self.seen)
        for difference in differences:
            channels.update(difference.channels)
            seen.update(difference.seen)
            for channel in difference.gone[0]:
                channels.pop(channel, None)
            for node in difference.gone[1]:
                seen.pop(node, None)
        return Versions(channels, seen)

    def copied(self) -> tuple[dict[str, Version], dict[str, dict[str, Version]]]:
        """Both maps, for someone who may change them."""
        return dict(self.channels), {node: dict(versions) for node, versions in self.seen.items()}


def _changed(new: Mapping[str, _T], old: Mapping[str, _T]) -> dict[str, _T]:
    return {key: value for key, value in new.items() if old.get(key) != value}


def _gone(new: Mapping[str, _T], old: Mapping[str, _T], changed: Mapping[str, _T]) -> list[str]:
    added = sum(key not in old for key in changed)
    return [] if len(new) - added == len(old) else [key for key in old if key not in new]


def _json(value: list[object]) -> str:
    return json.dumps(value, separators=(",", ":"))
