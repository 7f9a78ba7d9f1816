"""Checkpoints: creation, removal, restoring, and the branches of runs."""

from crewgraph.events.base import BaseEvent


class CheckpointBaseEvent(BaseEvent):
    """An event of a checkpoint."""

    location: str
    """The location of the checkpoints."""

    provider: str
    """The provider of the checkpoint storage."""

    trigger: str | None = None
    """The type of the event that triggered it."""

    branch: str | None = None
    """The branch."""

    parent_id: str | None = None
    """The preceding checkpoint on its branch."""


class CheckpointForkBaseEvent(BaseEvent):
    """An event of a branch."""

    branch: str
    """The branch."""

    parent_branch: str | None = None
    """The branch that it was forked from."""

    parent_checkpoint_id: str | None = None
    """The checkpoint that it was forked from."""


class CheckpointRestoreBaseEvent(BaseEvent):
    """An event of restoring a checkpoint."""

    location: str
    """The location of the checkpoints."""

    provider: str | None = None
    """The provider of the checkpoint storage."""


class CheckpointCompletedEvent(CheckpointBaseEvent):
    """A checkpoint was created, at `location`."""

    type: str = "checkpoint_completed"

    checkpoint_id: str
    """The checkpoint."""

    duration_ms: float
    """The duration in milliseconds."""


class CheckpointFailedEvent(CheckpointBaseEvent):
    """A checkpoint could not be created. Never emitted here: the run ends with the error, and can be resumed."""

    type: str = "checkpoint_failed"

    error: str
    """The error."""


class CheckpointForkCompletedEvent(CheckpointForkBaseEvent):
    """A run was forked."""

    type: str = "checkpoint_fork_completed"


class CheckpointForkStartedEvent(CheckpointForkBaseEvent):
    """A run is about to be forked."""

    type: str = "checkpoint_fork_started"


class CheckpointPrunedEvent(CheckpointBaseEvent):
    """Old checkpoints were removed."""

    type: str = "checkpoint_pruned"

    removed_count: int
    """The number removed."""

    max_checkpoints: int
    """Number of checkpoints kept."""


class CheckpointRestoreCompletedEvent(CheckpointRestoreBaseEvent):
    """A checkpoint was read."""

    type: str = "checkpoint_restore_completed"

    checkpoint_id: str
    """The checkpoint."""

    branch: str | None = None
    """The branch."""

    parent_id: str | None = None
    """The preceding checkpoint on its branch."""

    duration_ms: float
    """The duration in milliseconds."""


class CheckpointRestoreFailedEvent(CheckpointRestoreBaseEvent):
    """A checkpoint could not be read."""

    type: str = "checkpoint_restore_failed"

    error: str
    """The error."""


class CheckpointRestoreStartedEvent(CheckpointRestoreBaseEvent):
    """A checkpoint is about to be read."""

    type: str = "checkpoint_restore_started"


class CheckpointStartedEvent(CheckpointBaseEvent):
    """A checkpoint is about to be created."""

    type: str = "checkpoint_started"
