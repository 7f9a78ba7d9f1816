"""The versions of channels at a checkpoint, where their values are, and what each node has seen of them.

All of it grows with the graph. Stored whole in every checkpoint, a run of n tasks would take n² bytes.
"""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

__all__ = ["EMPTY", "Difference", "Version", "Versions"]

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
