"""What is noted of a flow's runs, and how they are taken up."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from crewgraph.core.files import FILES
from crewgraph.definitions.checkpoint_config import CheckpointConfig, config_of
from crewgraph.definitions.checkpointed import Beginning
from crewgraph.definitions.run_options import FlowRunOptions
from crewgraph.errors import RunError
from crewgraph.extensions import extension
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.flow.flow import Flow
    from crewgraph.runtime.flow import load
    from crewgraph.runtime.restored import begin_flow
    from crewgraph.runtime.restored import flow as restored_flow
else:
    load = lazy("crewgraph.runtime.flow:load")
    begin_flow = lazy("crewgraph.runtime.restored:begin_flow")
    restored_flow = lazy("crewgraph.runtime.restored:flow")

__all__ = ["FlowCheckpoints"]


class FlowCheckpoints:
    """The part of a flow that another process goes on with."""

    entity_type: ClassVar[str] = "flow"
    """What it is."""

    checkpoint: CheckpointConfig | bool | None = None
    """Whether runs are noted, so that another process can take them up: True for `./.checkpoints`, or a `CheckpointConfig`."""

    execution_context: Any = None
    """Accepted, without effect: a run stands where it is kicked off."""

    checkpoint_completed_methods: set[str] | None = None
    """The methods that had completed at the last checkpoint."""

    checkpoint_method_outputs: list[Any] | None = None
    """What they returned: dicts of `method` and `output`."""

    checkpoint_method_counts: dict[str, int] | None = None
    """How often they ran."""

    checkpoint_state: dict[str, Any] | None = None
    """The state as it was."""

    followed: tuple[str, str | None] | None = None
    """The branch that checkpoints are on, and the one before the next."""

    _begin: Beginning | None = None

    if TYPE_CHECKING:

        @property
        def state(self) -> Any: ...
        def take_state(self, state: Any) -> None: ...
        def _fresh(self) -> Any: ...

    def _with_checkpoints(self, checkpoint: CheckpointConfig | bool | None) -> None:
        if checkpoint is not None:
            config_of(checkpoint)
            self.checkpoint = checkpoint

    @classmethod
    def from_checkpoint(cls, config: CheckpointConfig, *, definition: Any = None) -> Self:
        """A flow whose next `kickoff` goes on where a run was stopped, with nothing done twice.

        Args:
            config: `restore_from` says which checkpoint; the latest of `location` where None.
            definition: without effect: a flow's definition is its class.

        Raises:
            ValueError: there is no such checkpoint, or it is none of a flow.
            FileNotFoundError: the file is not there.
        """
        return cast("Self", restored_flow(cast("type[Flow[Any]]", cls), config))

    def begin_with(self, beginning: Beginning) -> None:
        """Say how the next run begins."""
        self._begin = beginning

    def beginning(self) -> Any:
        """How the next run begins, told once; None where it begins at its beginning."""
        found, self._begin = self._begin, None
        return found

    def take_up(self, inputs: dict[str, Any], options: FlowRunOptions) -> dict[str, Any]:
        """What a kickoff is given, once it is known what it goes on with.

        Raises:
            ValueError: something among the files is no file, or is not there.
            RunError: no state is kept under an id.
        """
        config, state_id = options.from_checkpoint, options.restore_from_state_id
        if options.input_files:
            inputs = {**inputs, FILES: extension("files.record")(extension("files.read")(options.input_files))}
        if config is not None:
            if config.restore_from is None:
                self.checkpoint = config
            else:
                begin_flow(cast("Flow[Any]", self), config)
        if state_id is None:
            return inputs
        if not load(cast("Flow[Any]", self), state_id):
            raise RunError(f"no state is kept under `{state_id}`; look at the `id`, and at where it was kept")
        state: Any = self.state
        values: Mapping[str, Any] = dict(state)
        self.take_state(self._fresh())
        return {**{name: value for name, value in values.items() if name != "id"}, **inputs}
