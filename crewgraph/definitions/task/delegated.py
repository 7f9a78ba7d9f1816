"""A part of a task that was delegated to a coworker."""

from typing import Any, Self

from pydantic import PrivateAttr

from crewgraph.definitions.task.task import Task

__all__ = ["DelegatedTask"]


class DelegatedTask(Task):
    """The work that an agent delegates to a coworker as part of its task."""

    _whole: Task = PrivateAttr()
    _role: str = PrivateAttr(default="")

    @classmethod
    def of(cls, whole: Task, role: str, **fields: Any) -> Self:
        """A part of a task.

        Args:
            whole: the task, or the delegated part of it.
            role: what the coworker is called in this run.
            fields: of the part.
        """
        made = cls(**fields)
        made._whole = whole.whole if isinstance(whole, DelegatedTask) else whole
        made._role = role
        return made

    @property
    def whole(self) -> Task:
        """The task that it is a part of."""
        return self._whole

    @property
    def coworker_role(self) -> str:
        """What the coworker is called in the run."""
        return self._role
