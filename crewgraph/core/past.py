"""The checkpoints of a thread, and those that led to one of them. Edits and forks make a thread branch."""

from collections.abc import Sequence
from typing import Any, TypeVar

CheckpointT = TypeVar("CheckpointT", bound=Any)
"""A checkpoint or a state snapshot, with `config` and `parent_config`."""


def lineage(checkpoints: Sequence[CheckpointT], checkpoint_id: str | None = None) -> list[CheckpointT]:
    """Return the ancestors of a checkpoint and itself, oldest first.

    Args:
        checkpoints: all of a thread, newest first.
        checkpoint_id: the id of the checkpoint; None for the latest.
    """
    by_id = {checkpoint_id_of(current.config): current for current in checkpoints}
    path: list[CheckpointT] = []
    current: CheckpointT | None = checkpoints[0] if checkpoint_id is None else by_id.get(checkpoint_id)
    while current is not None:
        path.append(current)
        current = by_id.get(checkpoint_id_of(current.parent_config)) if current.parent_config else None
    return path[::-1]


def checkpoint_id_of(config: Any) -> str:
    """Return the checkpoint id in a config."""
    return str(config["configurable"]["checkpoint_id"])
