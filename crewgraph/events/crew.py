"""What happens to a crew."""

from typing import Any, ClassVar

from crewgraph.events.base import BaseEvent, attribute

__all__ = [
    "CrewBaseEvent",
    "CrewCompletedEvent",
    "CrewFailedEvent",
    "CrewKickoffCompletedEvent",
    "CrewKickoffFailedEvent",
    "CrewKickoffPausedEvent",
    "CrewKickoffStartedEvent",
    "CrewStartedEvent",
    "CrewTestCompletedEvent",
    "CrewTestFailedEvent",
    "CrewTestResultEvent",
    "CrewTestStartedEvent",
    "CrewTrainCompletedEvent",
    "CrewTrainFailedEvent",
    "CrewTrainStartedEvent",
]


class CrewBaseEvent(BaseEvent):
    """Something that happened to a crew."""

    crew_name: str | None = None
    """The crew's name; taken from `crew` unless given."""

    crew: Any = None
    """The crew."""

    thread_id: str | None = None
    """The thread that the run's checkpoints are kept under."""

    _origin: ClassVar[str | None] = "crew"

    def model_post_init(self, context: object, /) -> None:
        super().model_post_init(context)
        if self.crew is not None:
            self._fill("crew_name", attribute(self.crew, "name"))
            self._fill("thread_id", attribute(self.crew, "thread_id"))

    def set_crew_fingerprint(self) -> None:
        """Note the crew's fingerprint, for a crew that was given after the event was made."""
        if self.crew is not None:
            self._sign("crew", getattr(self.crew, "fingerprint", None))


class CrewKickoffStartedEvent(CrewBaseEvent):
    """A crew begins to work."""

    type: str = "crew_kickoff_started"

    inputs: dict[str, Any] | None
    """The values for the placeholders."""


class CrewKickoffCompletedEvent(CrewBaseEvent):
    """A crew is done."""

    type: str = "crew_kickoff_completed"

    output: Any
    """The crew's output."""

    total_tokens: int = 0
    """What all requests of the run cost, in tokens."""


class CrewKickoffFailedEvent(CrewBaseEvent):
    """A crew could not finish."""

    type: str = "crew_kickoff_failed"

    error: str
    """What went wrong."""


class CrewKickoffPausedEvent(CrewBaseEvent):
    """A crew's run waits for somebody's answer, and nothing else in it can go on."""

    type: str = "crew_kickoff_paused"

    output: Any
    """What it waits for, as `kickoff` returns it."""


class CrewTrainStartedEvent(CrewBaseEvent):
    """A crew begins to be trained."""

    type: str = "crew_train_started"

    n_iterations: int
    """How many rounds are asked for."""

    filename: str
    """Where the lessons are kept."""

    inputs: dict[str, Any] | None
    """The values for the placeholders."""


class CrewTrainCompletedEvent(CrewBaseEvent):
    """A crew has been trained."""

    type: str = "crew_train_completed"

    n_iterations: int
    """How many rounds were made."""

    filename: str
    """Where the lessons are kept."""


class CrewTrainFailedEvent(CrewBaseEvent):
    """The training of a crew broke off."""

    type: str = "crew_train_failed"

    error: str
    """What went wrong."""


class CrewTestStartedEvent(CrewBaseEvent):
    """A crew begins to be tested."""

    type: str = "crew_test_started"

    n_iterations: int
    """How many rounds are asked for."""

    eval_llm: Any
    """The model that judges."""

    inputs: dict[str, Any] | None
    """The values for the placeholders."""


class CrewTestCompletedEvent(CrewBaseEvent):
    """A crew has been tested."""

    type: str = "crew_test_completed"


class CrewTestFailedEvent(CrewBaseEvent):
    """The test of a crew broke off."""

    type: str = "crew_test_failed"

    error: str
    """What went wrong."""


class CrewTestResultEvent(CrewBaseEvent):
    """One task of a tested crew has its mark."""

    type: str = "crew_test_result"

    quality: float
    """The mark, 0 to 10."""

    execution_duration: float
    """How long the task took, in seconds."""

    model: str
    """The model that judged."""


CrewStartedEvent = CrewKickoffStartedEvent
CrewCompletedEvent = CrewKickoffCompletedEvent
CrewFailedEvent = CrewKickoffFailedEvent
