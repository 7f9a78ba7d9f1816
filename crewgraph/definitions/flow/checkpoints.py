"""The checkpoint settings of flows, and the extension that takes part in a run."""

from typing import Any, ClassVar, Final, Self

from crewgraph.core.files import FILES, files_in
from crewgraph.definitions.base import NextRun
from crewgraph.definitions.checkpoints import CheckpointSettings, validate_checkpoint
from crewgraph.definitions.run_options import Inputs
from crewgraph.extensions import extension


class FlowCheckpoints(NextRun):
    """The part of a flow that lets another process continue its runs."""

    entity_type: ClassVar[str] = "flow"
    """The kind of entity."""

    checkpoint: CheckpointSettings | bool | None = None
    """Whether runs write checkpoints from which another process can continue: True for `./.checkpoints`, or a
    `CheckpointConfig`."""

    execution_context: Any = None
    """Has no effect: a run executes where it is kicked off."""

    _next_start: object = None
    _checkpoint_origin: tuple[str, str | None, str] | None = None

    def _init_checkpoint(self, checkpoint: CheckpointSettings | bool | None) -> None:
        if checkpoint is not None:
            self.checkpoint = validate_checkpoint(checkpoint)

    @classmethod
    def from_checkpoint(cls, config: CheckpointSettings, *, definition: Any = None) -> Self:
        """Return a flow whose next `kickoff` continues a stopped run; no work is repeated.

        Args:
            config: `restore_from` selects the checkpoint; None selects the latest in `location`.
            definition: ignored: a flow's definition is its class.

        Raises:
            ValueError: there is no such checkpoint, or it is not of a flow.
            FileNotFoundError: the file does not exist.
        """
        return extension("snapshots.restore")(cls, config)


TURN: Final = ":turn"
"""The input that makes a run a turn of a conversation; no field of a state and no parameter can have such a name."""


def run_extension(inputs: Inputs) -> Any:
    """Return what takes part in a run with these inputs besides the flow: the extension for conversations, or None."""
    return extension("conversations.turns") if TURN in inputs else None


def state_inputs(inputs: Inputs) -> dict[str, Any]:
    """Return the inputs that are fields of the state or parameters of methods."""
    apart = (TURN, FILES) if files_in(inputs) else (TURN,)
    return {name: value for name, value in inputs.items() if name not in apart}
