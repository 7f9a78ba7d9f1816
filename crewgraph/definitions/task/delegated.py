"""A part of a task that was delegated to a coworker."""

from typing import Any, ClassVar, Self

from pydantic import PrivateAttr

from crewgraph.definitions.task.task import TaskDefinition


class DelegatedTaskDefinition(TaskDefinition):
    """The work that an agent delegates to a coworker as part of its task."""

    part_class: ClassVar[type["DelegatedTaskDefinition"]]
    """The class that agents get, with the methods that run it; set by `crewgraph.task`."""

    _original: TaskDefinition = PrivateAttr()
    _role: str = PrivateAttr(default="")

    @classmethod
    def of(cls, original: TaskDefinition, role: str, **fields: Any) -> Self:
        """A part of a task.

        Args:
            original: the task, or an already delegated part of it.
            role: what the coworker is called in this run.
            fields: of the part.
        """
        part = cls(**fields)
        part._original = original.original if isinstance(original, DelegatedTaskDefinition) else original
        part._role = role
        return part

    @property
    def original(self) -> TaskDefinition:
        """The task that it is a part of."""
        return self._original

    @property
    def coworker_role(self) -> str:
        """What the coworker is called in the run."""
        return self._role
