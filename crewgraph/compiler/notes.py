"""What a run of a crew notes of its tasks beside their outputs: it is shown to users, and kept in no checkpoint.

A conversation holds the outputs of earlier tasks. Kept with each task it would make a database that grows with the square of
their number.
"""

from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

__all__ = ["NOTES", "RunNotes", "TaskNote", "noted"]


@dataclass(frozen=True)
class TaskNote:
    """A task that was done in this process, in this run."""

    ended: datetime
    messages: list[dict[str, Any]]
    """Its conversation, as the model saw it last."""


@dataclass(frozen=True)
class RunNotes:
    """A run's tasks, by their channels."""

    tasks: dict[str, TaskNote] = field(default_factory=dict[str, TaskNote])

    crew: tuple[str, str] | None = None
    """The `id` and the `key` of the crew; None where an agent works on its own."""


NOTES: ContextVar[RunNotes | None] = ContextVar("crewgraph_run_notes", default=None)
"""The notes of the run around the code; none where somebody else runs the graph."""


def noted(slug: str, messages: list[dict[str, Any]]) -> None:
    """Note that a task is done."""
    notes = NOTES.get()
    if notes is not None:
        notes.tasks[slug] = TaskNote(datetime.now(), messages)
