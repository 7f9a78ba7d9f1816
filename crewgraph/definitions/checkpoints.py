"""The checkpoint settings of crews, flows and agents; `crewgraph.contrib.snapshots` writes and reads the snapshots."""

from collections.abc import Callable
from pathlib import Path
from types import MethodType
from typing import Annotated, Any, ClassVar, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, overload

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PrivateAttr, SerializeAsAny

from crewgraph.errors import DefinitionError
from crewgraph.extensions import extension
from crewgraph.redaction import RedactedModel

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class CheckpointSettings(RedactedModel):
    """When checkpoints of a run are written, and where they are stored: the fields of `crewgraph.CheckpointConfig`."""

    location: str = "./.checkpoints"
    """A folder; with a `SqliteProvider` a file, `./.checkpoints.db` by default."""

    on_events: list[str] = Field(default=["task_completed"])
    """Types of events that trigger a checkpoint; "*" for all."""

    provider: Any = None
    """The storage backend."""

    max_checkpoints: int | None = None
    """Number of latest checkpoints kept per branch; None keeps all."""

    restore_from: Path | str | None = None
    """The checkpoint to continue from, as in `CheckpointCompletedEvent.location`; None is the latest."""


def _parse_config(value: Any) -> Any:
    return extension("snapshots.config").model_validate(value) if isinstance(value, dict) else value


def validate_checkpoint(value: Any) -> Any:
    """Return the value of a `checkpoint` field if it is valid; a dict becomes a `CheckpointConfig`.

    Raises:
        DefinitionError: If it is neither a bool, a `CheckpointConfig`, nor a dict of its fields.
        ValidationError: If a field of the dict is wrong.
    """
    value = _parse_config(value)
    if value is not None and not isinstance(value, (bool, CheckpointSettings)):
        raise DefinitionError(f"`checkpoint` is {value!r:.80}; use True or a `CheckpointConfig`")
    return value


class NextRun:
    """Mixin of crews, flows and agents whose next run can start from a snapshot."""

    _next_start: Any
    _checkpoint_origin: tuple[str, str | None, str] | None

    @property
    def checkpoint_origin(self) -> tuple[str, str | None, str] | None:
        """The branch of the checkpoints, the checkpoint that the next one follows, and the last completed task (or "")."""
        return self._checkpoint_origin

    def start_next_with(self, start: Any, origin: tuple[str, str | None, str] | None = None) -> None:
        """Set the starting point of the next run, whose form `contrib.snapshots` defines, and the origin of its checkpoints."""
        self._next_start, self._checkpoint_origin = start, origin

    def take_start(self) -> Any:
        """Return and clear the starting point of the next run; None for a regular start, whose checkpoints have no origin."""
        start = self._next_start
        if start is not None:
            self._next_start = None
        elif self._checkpoint_origin is not None:
            self._checkpoint_origin = None
        return start


class CheckpointFields(NextRun, BaseModel, defer_build=True):
    """Checkpoint fields of crews and agents."""

    checkpoint: Annotated[
        SerializeAsAny[CheckpointSettings] | bool | None,
        BeforeValidator(_parse_config),
        AfterValidator(validate_checkpoint),
    ] = None
    """Whether to write checkpoints from which another process can continue: True for `./.checkpoints`, or a
    `CheckpointConfig`; False also excludes an agent of a crew that writes them."""

    execution_context: Any = Field(default=None, exclude=True, repr=False)
    """Accepted and ignored."""

    _next_start: Any = PrivateAttr(default=None)
    _checkpoint_origin: tuple[str, str | None, str] | None = PrivateAttr(default=None)

    @classmethod
    def from_checkpoint(cls, config: CheckpointSettings) -> Self:
        """Restore a crew or an agent from a checkpoint; its next `kickoff` continues where the run stopped, repeating nothing.

        Classes, functions and tools are imported by name, and API keys are read from the environment. To continue with a crew
        that the program defines itself, call `crew.kickoff(from_checkpoint=config)`.

        Args:
            config: `restore_from` selects the checkpoint; None selects the latest at `location`.

        Raises:
            ValueError: If there is no such checkpoint, or it contains no such object.
            FileNotFoundError: If its file does not exist.
            DefinitionError: If part of it cannot be imported by name, such as a lambda.
        """
        return extension("snapshots.restore")(cls, config)


class CrewCheckpoints(CheckpointFields):
    """Checkpoint fields and methods of crews."""

    entity_type: Literal["crew"] = Field(default="crew", repr=False)
    """The kind of entity."""


class AgentCheckpoints(CheckpointFields):
    """Checkpoint fields and methods of agents: in a crew, they cover the agent's part of the run; standalone, its kickoffs."""

    entity_type: Literal["agent"] = Field(default="agent", repr=False)
    """The kind of entity."""

    @classmethod
    def fork(cls, config: CheckpointSettings, branch: str | None = None) -> Self:
        """Restore an agent from a checkpoint for a new `kickoff` on a new branch; see `from_checkpoint`."""
        return extension("snapshots.restore")(cls, config, branch or "")


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


def apply_from_checkpoint(entity: Any, config: CheckpointSettings) -> None:
    """Apply `from_checkpoint=` of a kickoff to a crew, a flow or an agent.

    Without `restore_from`, the config applies to checkpoints from now on; with it, the next run continues from the checkpoint.

    Raises:
        ValueError: If there is no such checkpoint, or it contains another kind of entity.
        FileNotFoundError: If its file does not exist.
    """
    if config.restore_from is None:
        entity.checkpoint = config
    else:
        extension("snapshots.restore_into")(entity, config)


class ForkMethod(Generic[Arguments, Result]):
    """Descriptor of `fork`: `crew.fork(step)` runs on from a step, `Crew.fork(config)` restores a crew on a new branch."""

    def __init__(self, function: Callable[Concatenate[Any, Arguments], Result]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[Arguments, Result]: ...
    def __get__(self, instance: object, owner: type) -> Any:
        return MethodType(_fork_class, owner) if instance is None else MethodType(self.function, instance)


def _fork_class(cls: Any, config: CheckpointSettings, branch: str | None = None, *, definition: Any = None) -> Any:
    """Restore an object as `from_checkpoint` does; its next `kickoff` continues on a new branch.

    Args:
        cls: The class.
        config: `restore_from` selects the checkpoint; None selects the latest at `location`.
        branch: Name of the branch; None generates it.
        definition: Ignored: a flow's definition is its class.

    Raises:
        ValueError: If there is no such checkpoint, or it contains no such object.
        FileNotFoundError: If its file does not exist.
        DefinitionError: If part of it cannot be imported by name, such as a lambda.
    """
    return extension("snapshots.restore")(cls, config, branch or "")
