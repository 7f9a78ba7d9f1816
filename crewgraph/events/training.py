"""Events of training and testing crews, and of evaluating agents."""

from typing import Any

from crewgraph.events.crew import CrewBaseEvent
from crewgraph.schema import PlainDict

__all__ = [
    "CrewTestCompletedEvent",
    "CrewTestFailedEvent",
    "CrewTestResultEvent",
    "CrewTestStartedEvent",
    "CrewTrainCompletedEvent",
    "CrewTrainFailedEvent",
    "CrewTrainStartedEvent",
]


class CrewTrainStartedEvent(CrewBaseEvent):
    """The training of a crew starts."""

    type: str = "crew_train_started"

    n_iterations: int
    """The number of rounds requested."""

    filename: str
    """The training file."""

    inputs: PlainDict | None
    """The values for the placeholders."""


class CrewTrainCompletedEvent(CrewBaseEvent):
    """A crew has been trained."""

    type: str = "crew_train_completed"

    n_iterations: int
    """The number of finished rounds."""

    filename: str
    """The training file."""


class CrewTrainFailedEvent(CrewBaseEvent):
    """The training of a crew has failed."""

    type: str = "crew_train_failed"

    error: str
    """The error."""


class CrewTestStartedEvent(CrewBaseEvent):
    """A test of a crew starts."""

    type: str = "crew_test_started"

    n_iterations: int
    """The number of rounds requested."""

    eval_llm: Any
    """The evaluating model."""

    inputs: PlainDict | None
    """The values for the placeholders."""


class CrewTestCompletedEvent(CrewBaseEvent):
    """A crew has been tested."""

    type: str = "crew_test_completed"


class CrewTestFailedEvent(CrewBaseEvent):
    """The test of a crew has failed."""

    type: str = "crew_test_failed"

    error: str
    """The error."""


class CrewTestResultEvent(CrewBaseEvent):
    """A task of a tested crew got its score."""

    type: str = "crew_test_result"

    quality: float
    """The score, 0 to 10."""

    execution_duration: float
    """The duration of the task in seconds."""

    model: str
    """The evaluating model."""
