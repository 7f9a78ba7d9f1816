"""When a run is noted, where, and what a run is taken up from."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BaseModel, BeforeValidator, Field, SerializeAsAny, model_validator

from crewgraph.definitions.checkpoint_events import CheckpointEventType
from crewgraph.errors import DefinitionError
from crewgraph.snapshots import BaseProvider, JsonProvider, SqliteProvider, detect_provider

__all__ = ["CheckpointConfig", "config_of"]

_FOLDER = "./.checkpoints"
_FILE = "./.checkpoints.db"
_PROVIDERS: dict[str, type[BaseProvider]] = {"json": JsonProvider, "sqlite": SqliteProvider}


def _provider(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kind: Any = cast("dict[str, Any]", value).get("provider_type", "json")
    if kind not in _PROVIDERS:
        raise ValueError(f"`provider_type` is {kind!r}; there are {', '.join(_PROVIDERS)}")
    return _PROVIDERS[kind]()


class CheckpointConfig(BaseModel):
    """When checkpoints of a run are made, and where they are kept.

    The run itself is kept beside them, effect by effect, in a database of its own: what is taken up from the latest checkpoint
    goes on where the run was stopped.
    """

    location: str = _FOLDER
    """A folder; with a `SqliteProvider` a file, `./.checkpoints.db` where it is not given."""

    on_events: list[CheckpointEventType | Literal["*"]] = Field(default=["task_completed"])
    """The types of the events that one is made for; "*" for all."""

    provider: Annotated[SerializeAsAny[BaseProvider], BeforeValidator(_provider)] = Field(default_factory=JsonProvider)
    """What keeps them."""

    max_checkpoints: int | None = None
    """How many are kept of each branch, the latest ones; None keeps all."""

    restore_from: Path | str | None = None
    """The checkpoint that a run is taken up from: what `CheckpointCompletedEvent.location` tells. None is the latest."""

    @model_validator(mode="after")
    def _in_a_file(self) -> Self:
        if isinstance(self.provider, SqliteProvider) and self.location == _FOLDER:
            self.location = _FILE
        return self

    @property
    def trigger_all(self) -> bool:
        """Whether one is made for each event."""
        return "*" in self.on_events

    @property
    def trigger_events(self) -> set[str]:
        """The types of the events."""
        return set(self.on_events)

    @property
    def runs(self) -> Path:
        """The database that the runs are kept in."""
        return self.provider.runs(self.location)

    @property
    def begun(self) -> Path:
        """The file that tells of the run that began last, which may have been stopped before its first checkpoint."""
        return Path(f"{self.runs}.begun")

    def found(self) -> tuple[str, BaseProvider | None]:
        """The checkpoint that is to be taken up, and what reads it; None for the file of a run's beginning.

        Raises:
            ValueError: there is none.
        """
        if self.restore_from is not None:
            path = str(self.restore_from)
            return path, detect_provider(path)
        newest, begun = self.provider.newest(self.location), self.begun
        if newest is not None and not (begun.is_file() and _is_later(begun, Path(newest.rpartition("#")[0] or newest))):
            return newest, self.provider
        if begun.is_file():
            return str(begun), None
        raise ValueError(
            f"there is no checkpoint in {self.location!r}. Give `restore_from` the one that is to be taken up, or `location` the "
            "place they are in"
        )


def _is_later(one: Path, other: Path) -> bool:
    return one.stat().st_mtime_ns > other.stat().st_mtime_ns


def config_of(checkpoint: CheckpointConfig | bool | None) -> CheckpointConfig | None:
    """What a `checkpoint` field comes to; None where none are made.

    Raises:
        DefinitionError: it is something else.
    """
    if checkpoint is None or isinstance(checkpoint, bool):
        return CheckpointConfig() if checkpoint else None
    if not isinstance(checkpoint, CheckpointConfig):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DefinitionError(f"`checkpoint` is {checkpoint!r:.80}; give True or a `CheckpointConfig`")
    return checkpoint
