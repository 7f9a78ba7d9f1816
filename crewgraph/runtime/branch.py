"""The checkpoints that led to one; edits and forks in the same thread leave others beside them."""

from collections.abc import Sequence
from typing import Any, TypeVar

__all__ = ["branch", "id_of"]

Kept = TypeVar("Kept", bound=Any)
"""A checkpoint, or a state: what has a `config` and a `parent_config`."""


def branch(kept: Sequence[Kept]) -> list[Kept]:
    """Those that led to the first one, in their order.

    Args:
        kept: all of a thread, the latest first.
    """
    by_id = {id_of(one.config): one for one in kept}
    found: list[Kept] = []
    one: Kept | None = kept[0]
    while one is not None:
        found.append(one)
        one = by_id.get(id_of(one.parent_config)) if one.parent_config else None
    return found[::-1]


def id_of(config: Any) -> str:
    """The checkpoint that a config names."""
    return str(config["configurable"]["checkpoint_id"])
