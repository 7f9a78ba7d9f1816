"""Events of crews, of training and testing them, and of evaluating agents."""

from typing import Any, ClassVar

from crewgraph.events.base import BaseEvent
from crewgraph.schema import PlainDict


class CrewBaseEvent(BaseEvent):
    """An event of a crew."""

    crew_name: str | None = None
    """The crew's name; taken from `crew` unless given."""

    crew: Any = None
    """The crew."""

    thread_id: str | None = None
    """The thread that the run's checkpoints are stored under."""

    _origin: ClassVar[str | None] = "crew"

    def model_post_init(self, context: object, /) -> None:
        super().model_post_init(context)
        if self.crew is not None:
            self._fill(crew_name=getattr(self.crew, "name", None), thread_id=getattr(self.crew, "thread_id", None))

    def set_crew_fingerprint(self) -> None:
        """Set the crew's fingerprint, for a crew assigned after the event was created."""
        if self.crew is not None:
            self._sign("crew", getattr(self.crew, "fingerprint", None))


class CrewKickoffStartedEvent(CrewBaseEvent):
    """A crew starts."""

    type: str = "crew_kickoff_started"

    inputs: PlainDict | None
    """The values for the placeholders; None for a crew that was kicked off without inputs."""


class CrewKickoffCompletedEvent(CrewBaseEvent):
    """A crew has completed."""

    type: str = "crew_kickoff_completed"

    output: Any
    """The crew's output."""

    total_tokens: int = 0
    """The tokens of all requests of the run."""


class CrewKickoffFailedEvent(CrewBaseEvent):
    """A crew has failed."""

    type: str = "crew_kickoff_failed"

    error: str
    """The error."""


class CrewKickoffPausedEvent(CrewBaseEvent):
    """A crew's run waits for a person's answer, and nothing else in it can continue."""

    type: str = "crew_kickoff_paused"

    output: Any
    """The pending output, as `kickoff` returns it."""


CrewStartedEvent = CrewKickoffStartedEvent
CrewCompletedEvent = CrewKickoffCompletedEvent
CrewFailedEvent = CrewKickoffFailedEvent


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
