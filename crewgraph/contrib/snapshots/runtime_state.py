"""What is at work, as a document that another process can take up."""

import json
import time
from collections.abc import Mapping
from typing import Any, Self, cast
from uuid import uuid4

from pydantic import ModelWrapValidatorHandler, PrivateAttr, RootModel, model_serializer, model_validator

from crewgraph.contrib.snapshots.config import CheckpointConfig, as_config
from crewgraph.contrib.snapshots.described import describe_definition, made_again
from crewgraph.contrib.snapshots.providers import BaseProvider, JsonProvider
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

__all__ = ["RuntimeState", "document_of", "read_snapshot", "run_in"]

_FORMAT = 1


class RuntimeState(RootModel[list[Any]]):
    """Crews, flows and agents that are at work, and the events so far; written as one document.

    A document describes the definitions, and says for each which run it is and how far that was. Reading one imports the
    modules that it names.
    """

    root: list[Any]
    """The crews, flows and agents."""

    _provider: BaseProvider = PrivateAttr(default_factory=JsonProvider)
    _checkpoint_id: str | None = PrivateAttr(default=None)
    _parent_id: str | None = PrivateAttr(default=None)
    _branch: str = PrivateAttr(default="main")
    _trigger: str | None = PrivateAttr(default=None)
    _event_record: EventRecord = PrivateAttr(default_factory=EventRecord)
    _runs: list[dict[str, Any] | None] = PrivateAttr(default_factory=list[dict[str, Any] | None])

    @property
    def event_record(self) -> EventRecord:
        """The events so far."""
        return self._event_record

    @property
    def provider(self) -> BaseProvider:
        """What keeps it."""
        return self._provider

    @provider.setter
    def provider(self, provider: BaseProvider) -> None:
        self._provider = provider

    @property
    def branch(self) -> str:
        """The branch that the next checkpoint is on."""
        return self._branch

    @property
    def parent_id(self) -> str | None:
        """The checkpoint before the next one."""
        return self._parent_id

    def follow(self, branch: str, parent_id: str | None) -> None:
        """Let the next checkpoint come behind one, on a branch."""
        self._branch, self._parent_id = branch, parent_id

    def noted(self, runs: list[dict[str, Any] | None], trigger: str | None = None) -> Self:
        """Say which run each entity is at, how far that is, and for which event that is written down."""
        self._runs, self._trigger = runs, trigger
        return self

    @property
    def runs(self) -> list[dict[str, Any] | None]:
        """Which run each entity was at, and how far; None for one that was not."""
        return [*self._runs, *([None] * (len(self.root) - len(self._runs)))]

    def checkpoint(self, location: str) -> str:
        """Write it.

        Returns:
            What finds it again.

        Raises:
            StorageError: it cannot be written.
        """
        began, about = self._begin(location)
        try:
            path = self._provider.checkpoint(
                self.model_dump_json(), location, parent_id=self._parent_id, branch=self._branch
            )
        except (OSError, ValueError) as error:
            raise self._failed(error, about) from error
        return self._written(path, began, about)

    async def acheckpoint(self, location: str) -> str:
        """Write it, without holding up the event loop; see `checkpoint`."""
        began, about = self._begin(location)
        try:
            path = await self._provider.acheckpoint(
                self.model_dump_json(), location, parent_id=self._parent_id, branch=self._branch
            )
        except (OSError, ValueError) as error:
            raise self._failed(error, about) from error
        return self._written(path, began, about)

    def fork(self, branch: str | None = None) -> None:
        """Let the next checkpoints be on a branch of their own; a name is made where None."""
        name = branch or f"fork/{self._checkpoint_id or 'start'}_{uuid4().hex[:6]}"
        about: dict[str, Any] = {
            "branch": name,
            "parent_branch": self._branch,
            "parent_checkpoint_id": self._checkpoint_id,
        }
        crewai_event_bus.emit(self, CheckpointForkStartedEvent(**about))
        self._branch = name
        crewai_event_bus.emit(self, CheckpointForkCompletedEvent(**about))

    @classmethod
    def from_checkpoint(cls, config: CheckpointSettings, **kwargs: Any) -> Self:
        """What a checkpoint holds.

        Args:
            config: `restore_from` says which one; the latest of `location` where None.
            kwargs: without effect.

        Raises:
            ValueError: there is none.
            FileNotFoundError: it is not there.
            DefinitionError: something that it names is not there.
        """
        return cast("Self", read_snapshot(as_config(config), cls.of))

    @classmethod
    async def afrom_checkpoint(cls, config: CheckpointSettings, **kwargs: Any) -> Self:
        """The same, in a coroutine."""
        return cls.from_checkpoint(config, **kwargs)

    def _begin(self, location: str) -> tuple[float, dict[str, Any]]:
        about: dict[str, Any] = {
            "provider": type(self._provider).__name__,
            "trigger": self._trigger,
            "branch": self._branch,
            "parent_id": self._parent_id,
        }
        crewai_event_bus.emit(self, CheckpointStartedEvent(location=location, **about))
        return time.perf_counter(), {"location": location, **about}

    def _failed(self, error: Exception, about: dict[str, Any]) -> StorageError:
        crewai_event_bus.emit(self, CheckpointFailedEvent(**about, error=str(error)))
        return StorageError(f"a checkpoint could not be written to {about['location']!r}: {error}")

    def _written(self, path: str, began: float, about: dict[str, Any]) -> str:
        self._checkpoint_id = self._parent_id = self._provider.extract_id(path)
        took = (time.perf_counter() - began) * 1000
        told: dict[str, Any] = {**about, "location": path, "checkpoint_id": self._checkpoint_id, "duration_ms": took}
        crewai_event_bus.emit(self, CheckpointCompletedEvent(**told))
        return path

    @model_serializer(mode="plain")
    def _document(self) -> dict[str, Any]:
        return document_of(self)

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, dict) or "entities" not in data:
            return handler(data)
        return cls.of(cast("dict[str, Any]", data))

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """What a document says.

        Raises:
            DefinitionError: something that it names is not there.
        """
        entities: list[dict[str, Any]] = document["entities"]
        state = cls([made_again(one["definition"]) for one in entities])
        state._runs = [one.get("run") for one in entities]
        state._branch, state._parent_id = document.get("branch") or "main", document.get("checkpoint_id")
        state._checkpoint_id = document.get("checkpoint_id")
        state._trigger = document.get("trigger")
        state._event_record = EventRecord.model_validate(document.get("event_record") or {})
        return state


def document_of(state: RuntimeState) -> dict[str, Any]:
    """What is at work, as plain data."""
    return {
        "crewgraph_format": _FORMAT,
        "parent_id": state.parent_id,
        "branch": state.branch,
        "trigger": state._trigger,  # pyright: ignore[reportPrivateUsage]
        "entities": [
            {
                "entity_type": getattr(one, "entity_type", type(one).__name__.lower()),
                "name": getattr(one, "name", None) or getattr(one, "role", None),
                "definition": describe_definition(one),
                "run": run,
                "checkpoint_inputs": None if run is None else run.get("inputs"),
            }
            for one, run in zip(state.root, state.runs, strict=True)
        ],
        "event_record": state.event_record.model_dump(mode="json"),
    }


def read_snapshot(config: CheckpointConfig, taken: Any) -> Any:
    """Read a checkpoint, and tell of it.

    Args:
        config: which one.
        taken: makes of the document what is returned.

    Raises:
        ValueError: there is none, or it is no checkpoint.
        FileNotFoundError: it is not there.
    """
    began = time.perf_counter()
    path, provider = config.found()
    name = None if provider is None else type(provider).__name__
    crewai_event_bus.emit(config, CheckpointRestoreStartedEvent(location=path, provider=name))
    try:
        document = _document(path, provider)
        found = taken(document)
    except (OSError, ValueError) as error:
        failed = CheckpointRestoreFailedEvent(location=path, provider=name, error=str(error))
        crewai_event_bus.emit(config, failed)
        raise
    crewai_event_bus.emit(
        config,
        CheckpointRestoreCompletedEvent(
            location=path,
            provider=name,
            checkpoint_id=document["checkpoint_id"] or "",
            branch=document.get("branch"),
            parent_id=document.get("parent_id"),
            duration_ms=(time.perf_counter() - began) * 1000,
        ),
    )
    return found


def _document(path: str, provider: BaseProvider | None) -> dict[str, Any]:
    reader = provider or JsonProvider()
    document: Any = json.loads(reader.from_checkpoint(path))
    if not isinstance(document, dict) or "crewgraph_format" not in document:
        raise ValueError(
            f"{path!r} is no checkpoint of crewgraph. CrewAI's own cannot be read: they hold its objects. Run the crew again"
        )
    held = cast("dict[str, Any]", document)
    # Nobody but the provider knows the name it gave.
    return {**held, "checkpoint_id": None if provider is None else provider.extract_id(path)}


def run_in(document: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The run of the first entity of a kind.

    Raises:
        ValueError: there is none.
    """
    for one in document["entities"]:
        if one["entity_type"] == kind:
            return dict(one.get("run") or {})
    raise ValueError(
        f"the checkpoint holds no {kind}, but {', '.join(one['entity_type'] for one in document['entities'])}"
    )
