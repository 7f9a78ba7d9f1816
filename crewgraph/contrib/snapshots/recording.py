"""Makes checkpoints of crews, flows and agents while they run: addresses in the databases of their runs."""

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from langgraph.checkpoint.base import empty_checkpoint
from pydantic import BaseModel, PrivateAttr, RootModel

from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.contrib.snapshots.config import Address, CheckpointConfig, config_of
from crewgraph.contrib.snapshots.described import describe_definition
from crewgraph.core.loops.bridge import off_loop
from crewgraph.crew import Crew
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.checkpoints import CheckpointSettings
from crewgraph.definitions.crew.crew import agents_of
from crewgraph.events.base import BaseEvent, brief
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.checkpoint import CheckpointCompletedEvent, CheckpointPrunedEvent, CheckpointStartedEvent
from crewgraph.events.event_record import EventRecord
from crewgraph.events.lineage import ENDS, LINEAGE, STARTS
from crewgraph.events.llm import LLMStreamChunkEvent
from crewgraph.events.stream_context import LISTENING
from crewgraph.events.task import TaskCompletedEvent
from crewgraph.runtime.run_hooks import SnapshotOrigin
from crewgraph.runtime.run_target import RunPlace
from crewgraph.runtime.runs.storage import checkpointer_at
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.scoped import give_back
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

DEFINITION = "crewgraph_definition"
"""The namespace, in a run's thread, of what ran; also the key of its metadata."""


def run_saver(checkpoint: CheckpointSettings | bool) -> SqliteCheckpointer:
    """Return the run database of a `checkpoint` field, opened once per process.

    Raises:
        StorageError: If it cannot be opened.
    """
    return checkpointer_at((config_of(checkpoint) or CheckpointConfig()).runs)


class RuntimeState(RootModel[list[Any]]):
    """What runs with checkpoints, and its events so far; listeners with a third parameter get it."""

    root: list[Any]
    """The crew, flow or agent."""

    _event_record: EventRecord = PrivateAttr(default_factory=EventRecord)
    _recorder: "_Recorder | None" = PrivateAttr(default=None)

    @property
    def event_record(self) -> EventRecord:
        """The events so far."""
        return self._event_record

    def checkpoint(self, location: str) -> str:
        """Make a checkpoint.

        Args:
            location: The location of the run, as its `CheckpointConfig` names it.

        Returns:
            The address, for `restore_from`.

        Raises:
            ValueError: If nothing runs, or the run is stored elsewhere.
        """
        recorder = self._recorder
        if recorder is None or recorder.config.location != location:
            where = "nothing runs" if recorder is None else f"the run is stored in {recorder.config.location!r}"
            raise ValueError(f"{where}, so no checkpoint can be made in {location!r}. Give it to `CheckpointConfig`")
        return recorder.record(None)

    async def acheckpoint(self, location: str) -> str:
        """Async version of `checkpoint`."""
        return self.checkpoint(location)

    @classmethod
    def from_checkpoint(cls, config: CheckpointSettings, **kwargs: object) -> Self:
        """Restore what ran, as `Crew.from_checkpoint` does; `kwargs` are ignored."""
        from crewgraph.contrib.snapshots.restore import restore

        return cls([restore(None, config)])

    @classmethod
    async def afrom_checkpoint(cls, config: CheckpointSettings, **kwargs: object) -> Self:
        """Async version of `from_checkpoint`."""
        return cls.from_checkpoint(config, **kwargs)


@dataclass(kw_only=True)
class _Recorder:
    """Makes a checkpoint for each event that a config names.

    Args:
        config: The events, and where the run is stored.
        entity: The crew, flow or agent.
        saver: The checkpointer of the run.
        thread: The thread of the run.
        inputs: The inputs of the run.
        origin: The branch, and the checkpoint that the run continues from.
        concerns: Filters events; None accepts all.
    """

    config: CheckpointConfig
    entity: Any
    saver: object
    thread: str
    inputs: PlainMapping
    origin: tuple[str, str | None]
    concerns: Callable[[Any, BaseEvent], bool] | None = None

    def __post_init__(self) -> None:
        self.state = RuntimeState([self.entity])
        self.state._recorder = self  # pyright: ignore[reportPrivateUsage]
        self._branch, self._parent = self.origin
        self._made = 0
        self._lock = threading.RLock()

    def reached(self) -> str:
        """Return how far the run has come; see `Address`."""
        return ""

    def wants(self, event_type: type[BaseEvent], /) -> bool:
        """See `ContextListener`."""
        kind = str(event_type.model_fields["type"].default)
        if kind in self.config.trigger_events or kind in STARTS or kind in ENDS:
            return True
        return (
            self.config.trigger_all and not issubclass(event_type, LLMStreamChunkEvent) and not _is_of_checkpoint(kind)
        )

    def on_event(self, source: Any, event: BaseEvent, /) -> None:
        """See `ContextListener`."""
        if _is_of_checkpoint(event.type):
            return
        if source is self.entity and event.type in ("crew_kickoff_started", "lite_agent_execution_started"):
            is_crew = isinstance(source, Crew)
            scopes = LINEAGE.get().scopes
            begun = scopes[-1][0] if scopes else None
            source.checkpoint_kickoff_event_id = begun if is_crew else event.event_id
        with self._lock:
            self.state.event_record.add(event)
            triggered = self.config.trigger_all or event.type in self.config.trigger_events
            if triggered and (self.concerns is None or self.concerns(source, event)):
                self.record(event.type)

    def begin(self) -> None:
        """Store what runs, so that it can continue even if it stops before its first checkpoint."""
        database = self.saver.path if isinstance(self.saver, SqliteCheckpointer) else None
        run = {
            "entity_type": self.entity.entity_type,
            "definition": describe_definition(self.entity),
            "thread": self.thread,
            "database": database,
            "inputs": dict(self.inputs),
            "branch": self._branch,
            "parent": self._parent,
        }
        checkpoint: Any = {**empty_checkpoint(), "channel_values": {"run": run}, "channel_versions": {"run": "1"}}
        place: Any = {"configurable": {"thread_id": self.thread, "checkpoint_ns": DEFINITION}}
        metadata: Any = {"source": "input", "step": -1, "parents": {}, DEFINITION: True}
        off_loop(checkpointer_at(self.config.runs).put, place, checkpoint, metadata, {"run": "1"})

    def record(self, trigger: str | None) -> str:
        """Make a checkpoint and return its address."""
        start, reached = time.perf_counter(), self.reached()
        fields: PlainDict = {
            "provider": type(self.config.provider).__name__,
            "trigger": trigger,
            "branch": self._branch,
            "parent_id": self._parent,
        }
        crewai_event_bus.emit(self.config, CheckpointStartedEvent(location=self.config.location, **fields))
        address = str(Address(self.config.runs, self.thread, reached))
        self._made, self._parent = self._made + 1, address
        duration_ms = (time.perf_counter() - start) * 1000
        completed = CheckpointCompletedEvent(location=address, checkpoint_id=address, duration_ms=duration_ms, **fields)
        crewai_event_bus.emit(self.config, completed)
        kept = self.config.max_checkpoints
        if kept is not None and 0 < kept < self._made and isinstance(self.saver, SqliteCheckpointer):
            self.saver.prune([self.thread], count=kept, shrink=False)
            fields["parent_id"] = address
            pruned = CheckpointPrunedEvent(
                location=self.config.location, removed_count=1, max_checkpoints=kept, **fields
            )
            crewai_event_bus.emit(self.config, pruned)
        return address


def _is_of_checkpoint(kind: str) -> bool:
    return kind.startswith("checkpoint_")


class Recording:
    """Context manager in which recorders receive all events; a `RunObserver`."""

    def __init__(self, recorders: Sequence[_Recorder]) -> None:
        self._recorders = recorders

    def __enter__(self) -> None:
        for recorder in self._recorders:
            recorder.begin()
        here = LISTENING.get()
        state = self._recorders[0].state if self._recorders else here.state
        self._token = LISTENING.set(here._replace(listeners=(*here.listeners, *self._recorders), state=state))

    def __exit__(self, *failure: object) -> None:
        give_back(self._token)


@dataclass(kw_only=True)
class _CrewRecorder(_Recorder):
    tasks: Mapping[int, str]
    """The channel of each task, by the id of the object."""

    last: str
    """The channel of the task that completed last."""

    def reached(self) -> str:
        return self.last

    def on_event(self, source: Any, event: BaseEvent, /) -> None:
        if isinstance(event, TaskCompletedEvent):
            self.last = self.tasks.get(id(event.task), self.last)
        super().on_event(source, event)


class CrewRecording(Recording):
    """Makes checkpoints of a crew's run, for the crew or its agents."""

    def __init__(
        self,
        crew: Crew,
        place: RunPlace,
        tasks: Sequence[TaskBinding],
        inputs: PlainMapping,
        origin: SnapshotOrigin | None,
    ) -> None:
        branch, parent, last = origin or ("main", None, "")
        run = partial(
            _CrewRecorder,
            entity=crew,
            saver=place.checkpointer,
            thread=str(place.shown_thread),
            inputs=inputs,
            origin=(branch, parent),
            tasks={id(binding.task): binding.slug for binding in tasks},
            last=last,
        )
        super().__init__([] if place.checkpointer is False else list(_crew_recorders(crew, run)))
        if self._recorders:
            crew.checkpoint_inputs, crew.checkpoint_train = dict(inputs), crew.training


def _crew_recorders(crew: Crew, run: Callable[..., _Recorder]) -> Generator[_Recorder]:
    agents = agents_of(crew)
    if (config := config_of(crew.checkpoint)) is not None:
        excluded = [agent for agent in agents if agent.checkpoint is False]
        yield run(config=config, concerns=partial(_is_of_others, excluded))
        return
    for agent in agents:
        if (agent_config := config_of(agent.checkpoint)) is not None:
            yield run(config=agent_config, concerns=partial(_is_of, [agent]))


def _is_of_others(agents: Sequence[BaseAgentDefinition], source: object, event: BaseEvent) -> bool:
    return not _is_of(agents, source, event)


def _is_of(agents: Sequence[BaseAgentDefinition], source: object, event: BaseEvent) -> bool:
    owner = getattr(event, "agent", None)
    return any(source is agent or event.agent_id == str(agent.id) or owner is agent for agent in agents)


@dataclass(kw_only=True)
class _FlowRecorder(_Recorder):
    run: FlowRun

    def reached(self) -> str:
        run, flow = self.run, self.run.flow
        flow.checkpoint_completed_methods, flow.checkpoint_method_counts = set(run.completed), dict(run.completed)
        flow.checkpoint_state = _shown_state(run.state)
        return str(sum(run.completed.values()))


class FlowRecording(Recording):
    """Makes checkpoints of a flow's run."""

    def __init__(self, run: FlowRun, saver: object) -> None:
        flow, config = run.flow, config_of(run.flow.checkpoint)
        recorders: list[_Recorder] = []
        if config is not None:
            recorders = [
                _FlowRecorder(
                    config=config,
                    entity=flow,
                    saver=saver,
                    thread=str(run.thread_id),
                    inputs=brief(run.inputs),
                    origin=flow.checkpoint_origin or ("main", None),
                    run=run,
                )
            ]
        super().__init__(recorders)


def _shown_state(state: Any) -> dict[str, object]:
    """Return a state as plain data for inspection; the stored run holds the full state."""
    return state.model_dump(mode="json") if isinstance(state, BaseModel) else brief(dict(state or {}))


@dataclass(frozen=True)
class KickoffPoint:
    """The point from which an agent's kickoff continues."""

    thread_id: str | None
    """The kickoff's thread; None for a new one."""

    database: str | None
    branch: str
    parent_id: str | None


def agent_kickoff(
    agent: BaseAgentDefinition, start: KickoffPoint | None, inputs: PlainMapping
) -> tuple[RunPlace | None, Recording | None]:
    """Return where a standalone kickoff is stored and what makes its checkpoints; None for either that is not configured.

    Args:
        agent: The agent.
        start: The point to continue from; None for a new kickoff.
        inputs: The inputs of the kickoff.
    """
    config, point = config_of(agent.checkpoint), start or KickoffPoint(None, None, "main", None)
    if point.database is not None and Path(point.database).is_file():
        saver = checkpointer_at(Path(point.database))
    elif config is not None:
        saver = checkpointer_at(config.runs)
    else:
        return None, None
    thread = point.thread_id or str(uuid4())
    place = RunPlace(checkpointer=saver, thread_id=thread, detached=True)
    if config is None:
        return place, None
    origin = (point.branch, point.parent_id)
    return place, Recording(
        [_Recorder(config=config, entity=agent, saver=saver, thread=thread, inputs=inputs, origin=origin)]
    )
