"""The checkpoint settings of flows, and the protocol of extensions that take part in a run."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Protocol, Self

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


RESERVED_INPUTS: Final[Mapping[str, str]] = {":turn": "conversations.turns"}
"""Inputs that are neither fields of the state nor parameters of methods (no parameter can have such a name), each with the
extension that reads it."""


class RunExtension(Protocol):
    """The part of an extension in a run that has its input."""

    def state_before(self, flow: object, shown: Any, inputs: Inputs) -> Any:
        """Return the state that a new run continues with; None for `shown`, the state of the flow object."""

    def begin(self, flow: Any, state: object, inputs: Inputs) -> None:
        """Change the initial state of a run."""

    def end(self, flow: object, state: object, value: Any) -> None:
        """Change the final state of a run before it is stored; `value` is the return value of the last method."""

    def replaces(self, run: Any, values: Mapping[str, object]) -> bool:
        """Whether a new run ignores the unfinished run stored under its `id`, whose graph state is `values`."""
        ...

    def started(self, run: object) -> None:
        """Called when a run starts or resumes, after its first event."""

    def finished(self, run: object) -> None:
        """Called when a run has completed."""

    def failed(self, run: Any, error: BaseException) -> None:
        """Called when a run has failed."""


def run_extension(inputs: Inputs) -> RunExtension | None:
    """Return the extension that reads one of the inputs; None if there is none."""
    for name, reader in RESERVED_INPUTS.items():
        if name in inputs:
            return extension(reader)
    return None


def state_inputs(inputs: Inputs) -> dict[str, Any]:
    """Return the inputs that are fields of the state or parameters of methods."""
    apart = (*RESERVED_INPUTS, FILES) if files_in(inputs) else RESERVED_INPUTS
    return {name: value for name, value in inputs.items() if name not in apart}
