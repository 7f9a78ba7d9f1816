"""Checkpoint configuration: when checkpoints are made, where their runs are stored, and which one a run continues from."""

from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, cast
from urllib.parse import quote, unquote

from pydantic import BeforeValidator, Field, field_validator, model_validator

from crewgraph.definitions.checkpoints import CheckpointSettings, apply_from_checkpoint, validate_checkpoint
from crewgraph.redaction import RedactedModel
from crewgraph.schema import PlainDict

CheckpointEventType = str
"""The type of an event that makes a checkpoint, such as "task_completed"."""

_FOLDER, _FILE = "./.checkpoints", "./.checkpoints.db"
_SQLITE = b"SQLite format 3\x00"


class BaseProvider(RedactedModel):
    """The kind of a location."""

    provider_type: str = "base"
    """The kind of provider."""


class JsonProvider(BaseProvider):
    """The location is a folder; the runs are in its file `runs.db`."""

    provider_type: Literal["json"] = "json"  # pyright: ignore[reportIncompatibleVariableOverride]


class SqliteProvider(BaseProvider):
    """The location is an SQLite file."""

    provider_type: Literal["sqlite"] = "sqlite"  # pyright: ignore[reportIncompatibleVariableOverride]


class Address(NamedTuple):
    """Where a checkpoint is."""

    file: Path
    """The database."""

    thread: str | None = None
    """The thread of the run; None for the one that began last."""

    reached: str | None = None
    """How far the run had come: its last completed task, or the number of executed methods; None for all that is stored."""

    def __str__(self) -> str:
        return f"{self.file}#{quote(self.thread or '', safe='')}#{quote(self.reached or '', safe='')}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address, a database, or a folder with one."""
        file, *point = text.rsplit("#", 2)
        if len(point) == 2:
            return cls(Path(file), *map(unquote, point))
        return cls(Path(text, "runs.db") if Path(text).is_dir() else Path(text))


def _provider(value: object) -> object:
    if not isinstance(value, dict):
        if isinstance(value, BaseProvider) and not isinstance(value, (JsonProvider, SqliteProvider)):
            raise ValueError(
                "providers of your own are not called: give the run a checkpointer, `Crew(checkpointer=...)`"
            )
        return value
    kind = cast("PlainDict", value).get("provider_type", "json")
    if kind not in ("json", "sqlite"):
        raise ValueError(f"unknown `provider_type` {kind!r}; available: json, sqlite")
    return JsonProvider() if kind == "json" else SqliteProvider()


class CheckpointConfig(CheckpointSettings):
    """When checkpoints of a run are made, and where the run is stored.

    The run is stored effect by effect: continuing from its latest checkpoint resumes where it stopped.
    """

    provider: Annotated[JsonProvider | SqliteProvider, BeforeValidator(_provider)] = Field(default_factory=JsonProvider)
    """Whether `location` is a folder or an SQLite file."""

    @field_validator("on_events")
    @classmethod
    def _check_events(cls, value: list[str]) -> list[str]:
        from crewgraph import events

        kinds = (getattr(events, name) for name in events.__all__ if name.endswith("Event"))
        known = {str(kind.model_fields["type"].default) for kind in kinds if "type" in kind.model_fields}
        if unknown := sorted({*value} - known - {"*"}):
            raise ValueError(f"no event has the type {', '.join(map(repr, unknown))}; see the page on events")
        return value

    @model_validator(mode="after")
    def _in_a_file(self) -> Self:
        if isinstance(self.provider, SqliteProvider) and self.location == _FOLDER:
            self.location = _FILE
        return self

    @property
    def trigger_all(self) -> bool:
        """Whether every event makes a checkpoint."""
        return "*" in self.on_events

    @property
    def trigger_events(self) -> set[str]:
        """The event types that make a checkpoint."""
        return set(self.on_events)

    @property
    def runs(self) -> Path:
        """The database in which the runs are stored."""
        return Path(self.location) if isinstance(self.provider, SqliteProvider) else Path(self.location, "runs.db")

    def resolve(self) -> Address:
        """Return the checkpoint to continue.

        Raises:
            FileNotFoundError: If the file that `restore_from` names does not exist.
            ValueError: If it is another file, or there is no checkpoint at `location`.
        """
        address = Address(self.runs) if self.restore_from is None else Address.parse(str(self.restore_from))
        if not address.file.is_file():
            if self.restore_from is not None:
                raise FileNotFoundError(f"there is no file {str(address.file)!r} with checkpoints")
            raise ValueError(
                f"there is no checkpoint in {self.location!r}. Set `restore_from` to the checkpoint to continue from, or "
                "`location` to the place where they are stored"
            )
        with address.file.open("rb") as file:
            if file.read(len(_SQLITE)) != _SQLITE:
                raise ValueError(
                    f"{str(address.file)!r} is not a crewgraph checkpoint. CrewAI's checkpoints contain its objects and cannot "
                    "be read; run the crew again"
                )
        return address


def config_of(checkpoint: Any) -> CheckpointConfig | None:
    """Return the config of a `checkpoint` field; None if no checkpoints are made.

    Raises:
        DefinitionError: If the value is not a valid checkpoint setting.
    """
    config = validate_checkpoint(checkpoint)
    return (CheckpointConfig() if config else None) if config is None or isinstance(config, bool) else as_config(config)


def as_config(settings: CheckpointSettings) -> CheckpointConfig:
    """Return the settings as a `CheckpointConfig`, which can find checkpoints."""
    if isinstance(settings, CheckpointConfig):
        return settings
    return CheckpointConfig.model_validate({name: getattr(settings, name) for name in settings.model_fields_set})


def apply_checkpoint(instance: Any, from_checkpoint: CheckpointSettings | None) -> Any:
    """Apply `kickoff(from_checkpoint=...)` to a crew, a flow or an agent.

    Returns:
        A new instance restored from the checkpoint; None if there is no checkpoint to restore, in which case the config is
        set as the instance's `checkpoint`.
    """
    if from_checkpoint is None:
        return None
    if from_checkpoint.restore_from is not None:
        return instance.__class__.from_checkpoint(from_checkpoint)
    apply_from_checkpoint(instance, from_checkpoint)
    return None
