"""The task that a user's own version of `execute_sync` or `execute_task` was called for.

Such a version commonly calls ours. That call then works with the texts of this run, whatever the definition shows meanwhile,
and what it uses is counted for the task.
"""

from contextvars import ContextVar
from dataclasses import dataclass, field

from crewgraph.compiler.briefing import Briefing
from crewgraph.definitions.task import Task
from crewgraph.llm.usage import UsageLedger

__all__ = ["AT_WORK", "ONGOING", "OngoingTask"]


@dataclass
class OngoingTask:
    """A task at work, known to the code that a user's version of a verb runs."""

    task: Task
    briefing: Briefing
    usage: UsageLedger = field(default_factory=UsageLedger)
    """What our versions used, when called from the user's."""

    reviewed: bool = False
    """Whether our version of the agent's verb was called, which shows its answer to people where the task asks for it."""

    def enter(self) -> None:
        """Make it known to the code of the current context."""
        ONGOING.set(self)


AT_WORK: ContextVar[Task | None] = ContextVar("crewgraph_task_at_work", default=None)
"""The task around the running code."""

ONGOING: ContextVar[OngoingTask | None] = ContextVar("crewgraph_ongoing_task", default=None)
"""The task around the running code, where a user's version of a verb was called for it."""
