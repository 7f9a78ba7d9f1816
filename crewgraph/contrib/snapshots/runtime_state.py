"""Running crews, flows and agents as a JSON document that another process can restore."""

import json
import time
from typing import Any, Self, cast
from uuid import uuid4

from pydantic import ModelWrapValidatorHandler, PrivateAttr, RootModel, model_serializer, model_validator

from crewgraph.contrib.snapshots.config import CheckpointConfig, as_config
from crewgraph.contrib.snapshots.described import describe_definition, recreate_definition
from crewgraph.contrib.snapshots.providers import BaseProvider, JsonProvider
from crewgraph.core.loops.bridge import acall, call
from crewgraph.definitions.checkpoints import CheckpointSettings
from crewgraph.errors import StorageError
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.checkpoint import (
    CheckpointCompletedEvent,
    CheckpointFailedEvent,
    CheckpointForkCompletedEvent,
    CheckpointForkStartedEvent,
    CheckpointRestoreCompletedEvent,
    CheckpointRestoreFailedEvent,
    CheckpointRestoreStartedEvent,
    CheckpointStartedEvent,
)
from crewgraph.events.event_record import EventRecord
from crewgraph.schema import PlainDict, PlainMapping

__all__ = ["RuntimeState", "document_of", "read_snapshot", "run_in"]

_FORMAT = 1


class RuntimeState(RootModel[list[Any]]):
    """Running crews, flows and agents and their events, serialized as one document.

    A document describes the definitions and, for each, its run and progress. Reading one imports the modules that it names.
    """

    root: list[Any]
    """The entities."""

    _provider: BaseProvider = PrivateAttr(default_factory=JsonProvider)
    _checkpoint_id: str | None = PrivateAttr(default=None)
    _parent_id: str | None = PrivateAttr(default=None)
    _branch: str = PrivateAttr(default="main")
    _trigger: str | None = PrivateAttr(default=None)
    _event_record: EventRecord = PrivateAttr(default_factory=EventRecord)
    _runs: list[PlainDict | None] = PrivateAttr(default_factory=list[dict[str, Any] | None])

    @property
    def event_record(self) -> EventRecord:
        """The events so far."""
        return self._event_record

    @property
    def provider(self) -> BaseProvider:
        """The storage backend."""
        return self._provider

    @provider.setter
    def provider(self, provider: BaseProvider) -> None:
        self._provider = provider

    @property
    def branch(self) -> str:
        """The branch of the next checkpoint."""
        return self._branch

    @property
    def parent_id(self) -> str | None:
        """The checkpoint that precedes the next one."""
        return self._parent_id

    def continue_from(self, branch: str, parent_id: str | None) -> None:
        """Let the next checkpoint follow `parent_id` on `branch`."""
        self._branch, self._parent_id = branch, parent_id

    def set_progress(self, runs: list[PlainDict | None], trigger: str | None = None) -> Self:
        """Set the run and progress of each entity, and the event that triggers the checkpoint; return self."""
        self._runs, self._trigger = runs, trigger
        return self

    @property
    def runs(self) -> list[PlainDict | None]:
        """The run and progress of each entity; None for an entity without a run."""
        return [*self._runs, *([None] * (len(self.root) - len(self._runs)))]

    def checkpoint(self, location: str) -> str:
        """Write a checkpoint.

        Returns:
            The checkpoint's location.

        Raises:
            StorageError: If it cannot be written.
        """
        start, fields = self._begin(location)
        try:
            path = call(
                self._provider.checkpoint,
                self.model_dump_json(),
                location,
                parent_id=self._parent_id,
                branch=self._branch,
            )
        except (OSError, ValueError, StorageError) as error:
            raise self._failed(error, fields) from error
        return self._written(path, start, fields)

    async def acheckpoint(self, location: str) -> str:
        """Async version of `checkpoint`."""
        start, fields = self._begin(location)
        try:
            path = await acall(
                self._provider.acheckpoint,
                self.model_dump_json(),
                location,
                parent_id=self._parent_id,
                branch=self._branch,
            )
        except (OSError, ValueError, StorageError) as error:
            raise self._failed(error, fields) from error
        return self._written(path, start, fields)

    def fork(self, branch: str | None = None) -> None:
        """Put the next checkpoints on a new branch; None generates its name."""
        name = branch or f"fork/{self._checkpoint_id or 'start'}_{uuid4().hex[:6]}"
        fields: dict[str, Any] = {
            "branch": name,
            "parent_branch": self._branch,
            "parent_checkpoint_id": self._checkpoint_id,
        }
        crewai_event_bus.emit(self, CheckpointForkStartedEvent(**fields))
        self._branch = name
        crewai_event_bus.emit(self, CheckpointForkCompletedEvent(**fields))

    @classmethod
    def from_checkpoint(cls, config: CheckpointSettings, **kwargs: object) -> Self:
        """Restore the entities of a checkpoint.

        Args:
            config: `restore_from` selects the checkpoint; None selects the latest at `location`.
            kwargs: Ignored.

        Raises:
            ValueError: If there is no checkpoint.
            FileNotFoundError: If its file does not exist.
            DefinitionError: If a name in it cannot be imported.
        """
        return cast("Self", read_snapshot(as_config(config), cls.from_document))

    @classmethod
    async def afrom_checkpoint(cls, config: CheckpointSettings, **kwargs: object) -> Self:
        """Async version of `from_checkpoint`."""
        return cls.from_checkpoint(config, **kwargs)

    def _begin(self, location: str) -> tuple[float, PlainDict]:
        fields: dict[str, Any] = {
            "provider": type(self._provider).__name__,
            "trigger": self._trigger,
            "branch": self._branch,
            "parent_id": self._parent_id,
        }
        crewai_event_bus.emit(self, CheckpointStartedEvent(location=location, **fields))
        return time.perf_counter(), {"location": location, **fields}

    def _failed(self, error: Exception, fields: dict[str, Any]) -> StorageError:
        crewai_event_bus.emit(self, CheckpointFailedEvent(**fields, error=str(error)))
        return StorageError(f"a checkpoint could not be written to {fields['location']!r}: {error}")

    def _written(self, path: str, start: float, fields: dict[str, Any]) -> str:
        self._checkpoint_id = self._parent_id = call(self._provider.extract_id, path)
        duration_ms = (time.perf_counter() - start) * 1000
        fields = {**fields, "location": path, "checkpoint_id": self._checkpoint_id, "duration_ms": duration_ms}
        crewai_event_bus.emit(self, CheckpointCompletedEvent(**fields))
        return path

    @model_serializer(mode="plain")
    def _document(self) -> dict[str, object]:
        return document_of(self)

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, dict) or "entities" not in data:
            return handler(data)
        return cls.from_document(cast("PlainDict", data))

    @classmethod
    def from_document(cls, document: PlainMapping) -> Self:
        """Restore the state that a document describes.

        Raises:
            DefinitionError: If a name in it cannot be imported.
        """
        entities: list[PlainDict] = document["entities"]
        state = cls([recreate_definition(entity["definition"]) for entity in entities])
        state._runs = [entity.get("run") for entity in entities]
        state._branch, state._parent_id = document.get("branch") or "main", document.get("checkpoint_id")
        state._checkpoint_id = document.get("checkpoint_id")
        state._trigger = document.get("trigger")
        state._event_record = EventRecord.model_validate(document.get("event_record") or {})
        return state


def document_of(state: RuntimeState) -> PlainDict:
    """Return the state as plain data."""
    return {
        "crewgraph_format": _FORMAT,
        "parent_id": state.parent_id,
        "branch": state.branch,
        "trigger": state._trigger,  # pyright: ignore[reportPrivateUsage]
        "entities": [
            {
                "entity_type": getattr(entity, "entity_type", type(entity).__name__.lower()),
                "name": getattr(entity, "name", None) or getattr(entity, "role", None),
                "definition": describe_definition(entity),
                "run": run,
                "checkpoint_inputs": None if run is None else run.get("inputs"),
            }
            for entity, run in zip(state.root, state.runs, strict=True)
        ],
        "event_record": state.event_record.model_dump(mode="json"),
    }


def read_snapshot(config: CheckpointConfig, convert: Any) -> Any:
    """Read a checkpoint and emit the events of that.

    Args:
        config: Selects the checkpoint.
        convert: Converts the document to the result.

    Raises:
        ValueError: If there is no checkpoint, or the file is not one.
        FileNotFoundError: If its file does not exist.
        StorageError: If its file cannot be read.
    """
    start = time.perf_counter()
    path, provider = config.resolve()
    name = None if provider is None else type(provider).__name__
    crewai_event_bus.emit(config, CheckpointRestoreStartedEvent(location=path, provider=name))
    try:
        document = _document(path, provider)
        result = convert(document)
    except (OSError, ValueError, StorageError) as error:
        event = CheckpointRestoreFailedEvent(location=path, provider=name, error=str(error))
        crewai_event_bus.emit(config, event)
        raise
    crewai_event_bus.emit(
        config,
        CheckpointRestoreCompletedEvent(
            location=path,
            provider=name,
            checkpoint_id=document["checkpoint_id"] or "",
            branch=document.get("branch"),
            parent_id=document.get("parent_id"),
            duration_ms=(time.perf_counter() - start) * 1000,
        ),
    )
    return result


def _document(path: str, provider: BaseProvider | None) -> PlainDict:
    reader = provider or JsonProvider()
    document: object = json.loads(reader.from_checkpoint(path))
    if not isinstance(document, dict) or "crewgraph_format" not in document:
        raise ValueError(
            f"{path!r} is not a crewgraph checkpoint. CrewAI's checkpoints contain its objects and cannot be read; run the "
            "crew again"
        )
    fields = cast("PlainDict", document)
    # The document lacks its own id, which only the provider knows.
    return {**fields, "checkpoint_id": None if provider is None else call(provider.extract_id, path)}


def run_in(document: PlainMapping, kind: str) -> PlainDict:
    """Return the run of the first entity of a kind.

    Raises:
        ValueError: If there is none.
    """
    for entity in document["entities"]:
        if entity["entity_type"] == kind:
            return dict(entity.get("run") or {})
    raise ValueError(
        f"the checkpoint contains no {kind}, only: {', '.join(entity['entity_type'] for entity in document['entities'])}"
    )
