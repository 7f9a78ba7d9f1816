"""Events of tasks."""

from typing import Any, ClassVar

from crewgraph.events.base import BaseEvent

_Failure = type[BaseException]


class _TaskEvent(BaseEvent):
    task: Any = None
    """The task."""

    _origin: ClassVar[str | None] = "task"


class TaskStartedEvent(_TaskEvent):
    """A task starts."""

    type: str = "task_started"

    context: str | None
    """The earlier outputs that the task builds on."""

    description: str | None = None
    """The task description, with placeholders filled."""

    node: str | None = None
    """The name of its node in the graph of its crew."""


class TaskCompletedEvent(_TaskEvent):
    """A task has completed."""

    type: str = "task_completed"

    output: Any
    """The task's output."""


class TaskFailedEvent(_TaskEvent):
    """A task has failed."""

    type: str = "task_failed"

    error: str
    """The error."""

    error_type: _Failure | None = None
    """The class of the failure."""


class TaskOutputUnstructuredEvent(_TaskEvent):
    """A task's answer could not be converted to the requested structure; its text is kept."""

    type: str = "task_output_unstructured"

    error: str
    """The reason."""
