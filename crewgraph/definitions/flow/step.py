"""A step in the past of a flow."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = ["FlowStep"]


@dataclass(frozen=True, kw_only=True)
class FlowStep:
    """What a checkpoint of a run tells: some methods have completed, others are to run."""

    number: int
    """Its place among the steps of the run, from 0."""

    flow_id: str
    """The run."""

    checkpoint_id: str
    """The checkpoint, by LangGraph's name."""

    journaled: int = 0
    """How many completions after the checkpoint belong to it: with `granularity="flow"` most steps have no checkpoint."""

    completed: str | None
    """The method that completed last; None at the beginning."""

    output: Any
    """What it returned."""

    methods: tuple[str, ...]
    """All that have completed since the step before: methods that end together are kept together. The last is `completed`."""

    state: Mapping[str, Any]
    """The state's fields."""

    next: tuple[str, ...]
    """The methods that were to run, or ran."""

    created_at: datetime
    """When."""
