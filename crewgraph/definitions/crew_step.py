"""A step in the past of a crew's run."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from crewgraph.definitions.output import TaskOutput

__all__ = ["CrewStep"]


@dataclass(frozen=True, kw_only=True)
class CrewStep:
    """What a checkpoint of a run tells: some tasks have completed, others are to run.

    Tasks are called by their names in the graph: the task's name, else one made of its description.
    """

    number: int
    """Its place among the steps of the run, from 0."""

    thread_id: str
    """The run."""

    checkpoint_id: str
    """The checkpoint, by LangGraph's name."""

    completed: str | None
    """The task that completed last; None at the beginning."""

    output: TaskOutput | None
    """What it gave."""

    tasks: tuple[str, ...]
    """All that have completed since the step before: asynchronous tasks are kept together. The last is `completed`."""

    outputs: Mapping[str, TaskOutput]
    """What all tasks gave up to here."""

    inputs: Mapping[str, Any]
    """What the run was given."""

    next: tuple[str, ...]
    """The tasks that were to run, or to be skipped."""

    created_at: datetime
    """When."""

    inside: str | None = None
    """The thread of the flow in whose method it ran; None for a run of its own."""

    forked_from: str | None = None
    """At the first step of a fork or a replay: the run that it came from."""
