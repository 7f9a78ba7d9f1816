"""Classes that moved: where those are now that stored documents name by their former modules."""

from typing import Final

__all__ = ["current_name"]

_MOVED: Final[dict[str, str]] = {
    "crewgraph.definitions.checkpoint_config": "crewgraph.contrib.snapshots.config",
    "crewgraph.snapshots.json_provider": "crewgraph.contrib.snapshots.providers",
    "crewgraph.snapshots.provider": "crewgraph.contrib.snapshots.providers",
    "crewgraph.snapshots.sqlite_provider": "crewgraph.contrib.snapshots.providers",
}
"""The module of today, by the former module, or by a class in it."""


def current_name(name: str) -> str:
    """The name of a class as it is today.

    Args:
        name: "module:Class", as a document holds it.
    """
    former, colon, path = name.partition(":")
    module = _MOVED.get(name) or _MOVED.get(former, former)
    return f"{module}{colon}{path}"
