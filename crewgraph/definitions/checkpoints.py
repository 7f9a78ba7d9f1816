"""The checkpoint settings of crews, flows and agents; `crewgraph.contrib.snapshots` writes and reads the snapshots."""

from collections.abc import Callable
from pathlib import Path
from types import MethodType
from typing import Annotated, Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, overload

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PrivateAttr, SerializeAsAny

from crewgraph.errors import DefinitionError
from crewgraph.extensions import extension

__all__ = [
    "AgentCheckpoints",
    "CheckpointFields",
    "CheckpointSettings",
    "CrewCheckpoints",
    "ForkVerb",
    "NextRun",
    "apply_from_checkpoint",
    "validate_checkpoint",
]


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class CheckpointSettings(BaseModel):
    """When checkpoints of a run are made, and where they are kept: the fields of `crewgraph.CheckpointConfig`."""

    location: str = "./.checkpoints"
    """A folder; with a `SqliteProvider` a file, `./.checkpoints.db` by default."""

    on_events: list[str] = Field(default=["task_completed"])
    """The types of the events that one is made for; "*" for all."""

    provider: Any = None
    """What stores them."""

    max_checkpoints: int | None = None
    """How many are kept of each branch, the latest ones; None keeps all."""

    restore_from: Path | str | None = None
    """The checkpoint that a run continues from: `CheckpointCompletedEvent.location`. None is the latest."""


def _parse_config(value: Any) -> Any:
    return extension("snapshots.config").model_validate(value) if isinstance(value, dict) else value


def validate_checkpoint(value: Any) -> Any:
    """A `checkpoint` field, if it says something.

    Raises:
        DefinitionError: it is something else than a bool or a `CheckpointConfig`.
    """
    if value is not None and not isinstance(value, (bool, CheckpointSettings)):
        raise DefinitionError(f"`checkpoint` is {value!r:.80}; give True or a `CheckpointConfig`")
    return value


class NextRun:
    """The part of a crew, flow or agent that says how its next run begins."""

    _next_start: Any

    def start_next_with(self, start: Any) -> None:
        """Say how the next run begins: a snapshot's point, as the room of snapshots knows it."""
        self._next_start = start

    def take_start(self) -> Any:
        """How the next run begins, once; None where it begins at its beginning."""
        start, self._next_start = self._next_start, None
        return start


class CheckpointFields(NextRun, BaseModel):
    """What crews and agents have in common."""

    checkpoint: Annotated[
        SerializeAsAny[CheckpointSettings] | bool | None,
        BeforeValidator(_parse_config),
        AfterValidator(validate_checkpoint),
    ] = None
    """Whether checkpoints of its runs are made, so that another process can continue them: True for `./.checkpoints`, or a
    `CheckpointConfig`; False also for an agent of a crew that has them."""

    execution_context: Any = Field(default=None, exclude=True, repr=False)
    """Accepted, without effect: a run stands where it is kicked off."""

    checkpoint_kickoff_event_id: str | None = Field(default=None, exclude=True, repr=False)
    """The event that the last run with checkpoints began with."""

    _next_start: Any = PrivateAttr(default=None)


class CrewCheckpoints(CheckpointFields):
    """The part of a crew that another process continues."""

    entity_type: Literal["crew"] = Field(default="crew", repr=False)
    """What it is."""

    checkpoint_inputs: dict[str, Any] | None = Field(default=None, exclude=True, repr=False)
    """The inputs of the last run with checkpoints, or of the one that is continued."""

    checkpoint_train: bool | None = Field(default=None, exclude=True, repr=False)
    """Whether that run was a training."""

    @classmethod
    def from_checkpoint(cls, config: CheckpointSettings) -> Self:
        """A crew made of a checkpoint; its next `kickoff` continues where the run was stopped, with nothing done twice.

        It is made of what the checkpoint says: classes, functions and tools are looked up by their names, keys of models are
        read from the environment. `crew.kickoff(from_checkpoint=config)` continues with a crew that the program makes itself.

        Args:
            config: `restore_from` says which checkpoint; the latest of `location` where None.

        Raises:
            ValueError: there is no such checkpoint, or it is none of a crew.
            FileNotFoundError: the file is not there.
            DefinitionError: the crew holds something without a name (a lambda), or that is not there.
        """
        return extension("snapshots.restore")(cls, config)


class AgentCheckpoints(CheckpointFields):
    """The same for agents: of an agent in a crew, its part of that crew's run; alone, its kickoffs."""

    entity_type: Literal["agent"] = Field(default="agent", repr=False)
    """What it is."""

    @classmethod
    def from_checkpoint(cls, config: CheckpointSettings) -> Self:
        """An agent made of a checkpoint of a kickoff of its own, which its next `kickoff` continues.

        Raises:
            ValueError: there is no such checkpoint, or it is none of an agent.
            FileNotFoundError: the file is not there.
            DefinitionError: the agent holds something without a name, or that is not there.
        """
        return extension("snapshots.restore")(cls, config)

    @classmethod
    def fork(cls, config: CheckpointSettings, branch: str | None = None) -> Self:
        """An agent made of a checkpoint, whose next `kickoff` is a new one, on a branch of its own; see `from_checkpoint`."""
        return extension("snapshots.restore")(cls, config, branch or "")


def apply_from_checkpoint(entity: Any, config: CheckpointSettings | None) -> None:
    """What `from_checkpoint=` of a kickoff means for a crew, a flow or an agent.

    Without `restore_from`, checkpoints are made by this config from now on; with it, the next run continues from the checkpoint.

    Raises:
        ValueError: there is no such checkpoint, or it is one of something else.
        FileNotFoundError: the file is not there.
    """
    if config is None:
        return
    if config.restore_from is None:
        entity.checkpoint = config
    else:
        extension("snapshots.restore_into")(entity, config)


class ForkVerb(Generic[Arguments, Result]):
    """`crew.fork(step)` runs on from a step; `Crew.fork(config)` makes a crew of a checkpoint. The same for flows."""

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
    """An object made of a checkpoint, as by `from_checkpoint`, whose next `kickoff` continues on a new branch.

    Args:
        cls: the class.
        config: `restore_from` says which checkpoint; the latest of `location` where None.
        branch: the name of the branch; made where None.
        definition: without effect: a flow's definition is its class.

    Raises:
        ValueError: there is no such checkpoint, or it is none of such a thing.
        FileNotFoundError: the file is not there.
        DefinitionError: it holds something without a name (a lambda), or that is not there.
    """
    return extension("snapshots.restore")(cls, config, branch or "")
