"""A run that is kept, as the index of runs tells of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from crewgraph.definitions.flow.feedback import Question
    from crewgraph.definitions.pending_crew import CrewQuestion

__all__ = ["RunFilter", "RunInfo", "RunStatus"]

RunStatus = Literal["finished", "pending", "open"]
"""`finished`: it is done. `pending`: it waits for somebody's answer. `open`: it goes on in some process, or it failed or was
killed and can be resumed."""


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """A run that is kept; `resume` goes on with it."""

    thread_id: str
    """What it is kept under; `resume` takes it."""

    kind: Literal["crew", "flow"]
    name: str
    """What the crew or the flow is called."""

    status: RunStatus
    last: str | None
    """The method or the task that completed last; None where none has."""

    created_at: datetime | None
    """When it began, and the first run where several were kept under the same name; None where that is not known."""

    updated_at: datetime
    """When it was written last, in UTC: when the latest checkpoint was made, or to the minute what was written after it."""

    questions: "tuple[Question, ...] | tuple[CrewQuestion, ...]" = ()
    """What it waits for."""

    inside: str | None = None
    """The thread of the flow in whose method it ran; None for a run of its own."""

    @property
    def flow_id(self) -> str:
        """What flows call `thread_id`."""
        return self.thread_id


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Which of the stored runs are asked for; the keywords that the verbs `runs` share."""

    status: RunStatus | None = None
    """Only those with it."""

    inside: bool = False
    """Whether those inside the methods of flows are included."""

    limit: int | None = None
    """At most so many."""
