"""A step in the history of a flow's run."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = ["FlowStep"]


@dataclass(frozen=True, kw_only=True)
class FlowStep:
    """A step of a stored run: the checkpoint after some methods completed."""

    number: int
    """The index of the step in the run, from 0."""

    flow_id: str
    """The id of the run."""

    checkpoint_id: str
    """LangGraph's id of the checkpoint."""

    journaled: int = 0
    """Number of completions after the checkpoint that belong to the step; with `granularity="flow"` most steps have none."""

    completed: str | None
    """The method that completed last; None at the start."""

    output: Any
    """The return value of `completed`."""

    methods: tuple[str, ...]
    """The methods that completed since the previous step; methods may complete together. The last is `completed`."""

    state: Mapping[str, Any]
    """The state's fields."""

    next: tuple[str, ...]
    """The methods to run next."""

    created_at: datetime
    """When the checkpoint was created."""
