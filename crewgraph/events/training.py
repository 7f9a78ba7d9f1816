"""Events of training and testing crews, and of evaluating agents."""

from typing import Any

from crewgraph.events.base import BaseEvent
from crewgraph.events.crew import CrewBaseEvent
from crewgraph.schema import PlainDict

__all__ = [
    "AgentEvaluationCompletedEvent",
    "AgentEvaluationFailedEvent",
    "AgentEvaluationStartedEvent",
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


class AgentEvaluationStartedEvent(BaseEvent):
    """The evaluation of an agent's work starts."""

    type: str = "agent_evaluation_started"

    iteration: int
    """The round of the evaluation."""


class AgentEvaluationCompletedEvent(BaseEvent):
    """An agent's work was evaluated."""

    type: str = "agent_evaluation_completed"

    iteration: int
    """The round of the evaluation."""

    metric_category: Any
    """The metric."""

    score: Any
    """The score."""


class AgentEvaluationFailedEvent(BaseEvent):
    """An agent's work could not be evaluated."""

    type: str = "agent_evaluation_failed"

    iteration: int
    """The round of the evaluation."""

    error: str
    """The error."""
