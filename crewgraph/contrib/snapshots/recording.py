"""Records snapshots of crews, flows and agents while they run."""

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import BaseModel

from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.contrib.snapshots.config import CheckpointConfig, config_of
from crewgraph.contrib.snapshots.runtime_state import RuntimeState
from crewgraph.core.loops.bridge import call
from crewgraph.crew import Crew
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.checkpoints import CheckpointSettings
from crewgraph.definitions.crew.crew import agents_of
from crewgraph.disk import PRIVATE, replace_file
from crewgraph.errors import StorageError
from crewgraph.events.base import BaseEvent, brief
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.checkpoint import CheckpointPrunedEvent
from crewgraph.events.lineage import ENDS, LINEAGE, STARTS
from crewgraph.events.llm import LLMStreamChunkEvent
from crewgraph.events.stream_context import LISTENING
from crewgraph.events.task import TaskCompletedEvent
from crewgraph.redaction import redacted_logger
from crewgraph.runtime.run_hooks import SnapshotOrigin
from crewgraph.runtime.run_target import RunPlace
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.scoped import give_back
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

__all__ = [
    "CrewRecording",
    "FlowRecording",
    "KickoffPoint",
    "Recording",
    "SnapshotRecorder",
    "agent_kickoff",
    "run_saver",
    "saver_at",
]

_log = redacted_logger("crewgraph")
_lock = threading.Lock()
_savers: dict[Path, SqliteCheckpointer] = {}


def run_saver(checkpoint: CheckpointSettings | bool) -> SqliteCheckpointer:
    """Return the run database next to the snapshots of a `checkpoint` field, opened once per process.

    Raises:
        StorageError: If it cannot be opened.
    """
    return saver_at((config_of(checkpoint) or CheckpointConfig()).runs)


def saver_at(file: Path) -> SqliteCheckpointer:
    """Return the checkpointer of a database file, opened once per process.

    Raises:
        StorageError: If it cannot be opened.
    """
    path = file.resolve()
    with _lock:
        if path not in _savers:
            _savers[path] = SqliteCheckpointer(path)
        return _savers[path]


def _database_of(saver: object) -> str | None:
    """Return the file of a checkpointer; None if it has none."""
    return str(saver.path) if isinstance(saver, SqliteCheckpointer) and saver.path is not None else None


class SnapshotRecorder:
    """Writes a snapshot for each event that a config names.

    Args:
        config: The events, and where snapshots are stored.
        entity: The crew, flow or agent.
        point: Returns the run's identity and progress; called for each snapshot.
        origin: The branch, and the snapshot that precedes the first one.
        concerns: Filters events; None accepts all.
    """

    def __init__(
        self,
        config: CheckpointConfig,
        entity: object,
        point: Callable[[], PlainDict],
        origin: tuple[str, str | None],
        concerns: Callable[[Any, BaseEvent], bool] | None = None,
    ) -> None:
        self._config, self._point, self._concerns = config, point, concerns
        self._state = RuntimeState([entity])
        self._state.provider = config.provider
        self._state.continue_from(*origin)
        self._lock = threading.RLock()

    @property
    def state(self) -> RuntimeState:
        """The running entity, with the events so far."""
        return self._state

    def wants(self, event_type: type[BaseEvent], /) -> bool:
        """See `ContextListener`."""
        kind: object = event_type.model_fields["type"].default
        if kind in self._config.trigger_events or kind in STARTS or kind in ENDS:
            return True
        return (
            self._config.trigger_all
            and not issubclass(event_type, LLMStreamChunkEvent)
            and not _is_checkpoint_event(str(kind))
        )

    def on_event(self, source: object, event: BaseEvent, /) -> None:
        """See `ContextListener`."""
        if _is_checkpoint_event(event.type):
            return
        with self._lock:
            self._state.event_record.add(event)
            triggered = self._config.trigger_all or event.type in self._config.trigger_events
            if triggered and (self._concerns is None or self._concerns(source, event)):
                self._record(event.type)

    def begin(self) -> None:
        """Record that the run has started, so that it can continue even if it stops before its first snapshot."""
        path = self._config.begun
        data = self._state.set_progress([self._point()]).model_dump_json()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, data, mode=PRIVATE)

    def _record(self, trigger: str) -> None:
        try:
            self._state.set_progress([self._point()], trigger).checkpoint(self._config.location)
        except StorageError as error:
            _log.warning("%s; the run continues", error)  # the run itself is stored in its database
            return
        max_checkpoints, branch = self._config.max_checkpoints, self._state.branch
        if max_checkpoints is None or max_checkpoints < 1:
            return
        try:
            removed = call(self._config.provider.prune, self._config.location, max_checkpoints, branch=branch)
        except (OSError, StorageError) as error:
            _log.warning("Earlier checkpoints could not be removed; the run continues: %s", error)
            return
        if removed:
            event = CheckpointPrunedEvent(
                location=self._config.location,
                provider=type(self._config.provider).__name__,
                trigger=trigger,
                branch=branch,
                parent_id=self._state.parent_id,
                removed_count=removed,
                max_checkpoints=max_checkpoints,
            )
            crewai_event_bus.emit(self._config, event)


def _is_checkpoint_event(kind: str) -> bool:
    return kind.startswith("checkpoint_")


class Recording:
    """Context manager in which recorders receive all events; a `RunObserver`."""

    def __init__(self, recorders: Sequence[SnapshotRecorder]) -> None:
        self._recorders = recorders

    def __enter__(self) -> None:
        for recorder in self._recorders:
            recorder.begin()
        here = LISTENING.get()
        state = self._recorders[0].state if self._recorders else here.state
        self._token = LISTENING.set(here._replace(listeners=(*here.listeners, *self._recorders), state=state))

    def __exit__(self, *failure: object) -> None:
        give_back(self._token)


class CrewRecording(Recording):
    """Records snapshots of a crew's run, for the crew or its agents."""

    def __init__(
        self,
        crew: Crew,
        place: RunPlace,
        tasks: Sequence[TaskBinding],
        inputs: PlainMapping,
        origin: SnapshotOrigin | None,
    ) -> None:
        branch, parent, outputs = origin or ("main", None, {})
        self._crew, self._inputs = crew, inputs
        progress = _CrewProgress(place, tasks, inputs, outputs)
        super().__init__(list(_crew_recorders(crew, progress, (branch, parent))))

    def __enter__(self) -> None:
        if self._recorders:
            self._crew.checkpoint_inputs, self._crew.checkpoint_train = dict(self._inputs), self._crew.training
        super().__enter__()


class _CrewProgress:
    """The progress of a crew's run."""

    def __init__(
        self, place: RunPlace, tasks: Sequence[TaskBinding], inputs: PlainMapping, outputs: Mapping[str, object]
    ) -> None:
        self._place, self._inputs, self._outputs = place, dict(inputs), dict(outputs)
        self._tasks = {id(binding.task): binding for binding in tasks}

    def update(self, event: BaseEvent) -> None:
        """Update the progress from an event."""
        if isinstance(event, TaskCompletedEvent) and (binding := self._tasks.get(id(event.task))) is not None:
            self._outputs[binding.slug] = binding.labelled(event.output.to_plain())

    def point(self) -> PlainDict:
        """Return the run's identity and current progress."""
        return {
            "thread_id": self._place.shown_thread,
            "database": _database_of(self._place.checkpointer),
            "inputs": self._inputs,
            "outputs": dict(self._outputs),
        }


class _CrewRecorder(SnapshotRecorder):
    """Tracks a crew's progress, including events that no snapshot is written for."""

    def __init__(
        self,
        progress: _CrewProgress,
        crew: Crew,
        config: CheckpointConfig,
        concerns: Any,
        origin: tuple[str, str | None],
    ) -> None:
        super().__init__(config, crew, progress.point, origin, concerns)
        self._progress, self._crew = progress, crew

    def on_event(self, source: object, event: BaseEvent, /) -> None:
        self._progress.update(event)
        if event.type == "crew_kickoff_started" and source is self._crew:
            scopes = LINEAGE.get().scopes
            self._crew.checkpoint_kickoff_event_id = scopes[-1][0] if scopes else None
        super().on_event(source, event)


def _crew_recorders(crew: Crew, progress: _CrewProgress, origin: tuple[str, str | None]) -> Generator[SnapshotRecorder]:
    agents = agents_of(crew)
    config = config_of(crew.checkpoint)
    if config is not None:
        excluded = [agent for agent in agents if agent.checkpoint is False]
        yield _CrewRecorder(progress, crew, config, partial(_is_of_others, excluded), origin)
        return
    for agent in agents:
        if (agent_config := config_of(agent.checkpoint)) is not None:
            yield _CrewRecorder(progress, crew, agent_config, partial(_is_of, [agent]), origin)


def _is_of_others(agents: Sequence[BaseAgentDefinition], source: object, event: BaseEvent) -> bool:
    return not _is_of(agents, source, event)


def _is_of(agents: Sequence[BaseAgentDefinition], source: object, event: BaseEvent) -> bool:
    owner = getattr(event, "agent", None)
    return any(source is agent or event.agent_id == str(agent.id) or owner is agent for agent in agents)


class FlowRecording(Recording):
    """Records snapshots of a flow's run."""

    def __init__(self, run: FlowRun, saver: object) -> None:
        self._run, self._saver = run, saver
        flow, config = run.flow, config_of(run.flow.checkpoint)
        origin = flow.checkpoint_origin or ("main", None)
        super().__init__([] if config is None else [SnapshotRecorder(config, flow, self._point, origin)])

    def _point(self) -> dict[str, object]:
        run, flow = self._run, self._run.flow
        flow.checkpoint_completed_methods, flow.checkpoint_method_counts = set(run.completed), dict(run.completed)
        flow.checkpoint_state = _plain(run.state)
        return {
            "thread_id": run.thread_id,
            "database": _database_of(self._saver),
            "inputs": brief(run.inputs),
            "executions": sum(run.completed.values()),
            "completed": dict(run.completed),
            "state": flow.checkpoint_state,
        }


def _plain(state: Any) -> dict[str, object]:
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


class _AgentRecorder(SnapshotRecorder):
    """Also records the event with which the kickoff started."""

    def on_event(self, source: Any, event: BaseEvent, /) -> None:
        if event.type == "lite_agent_execution_started" and source is self.state.root[0]:
            source.checkpoint_kickoff_event_id = event.event_id
        super().on_event(source, event)


def agent_kickoff(
    agent: BaseAgentDefinition, start: KickoffPoint | None, inputs: PlainMapping
) -> tuple[RunPlace | None, Recording | None]:
    """Return where a standalone kickoff is stored and what records its snapshots; None for either that is not configured.

    Args:
        agent: The agent.
        start: The point to continue from; None for a new kickoff.
        inputs: The inputs of the kickoff.
    """
    config, point = config_of(agent.checkpoint), start or KickoffPoint(None, None, "main", None)
    if point.database is not None and Path(point.database).is_file():
        saver = saver_at(Path(point.database))
    elif config is not None:
        saver = saver_at(config.runs)
    else:
        return None, None
    place = RunPlace(checkpointer=saver, thread_id=point.thread_id or str(uuid4()), detached=True)
    if config is None:
        return place, None
    progress = {"thread_id": place.thread_id, "database": _database_of(saver), "inputs": dict(inputs)}
    return place, Recording([_AgentRecorder(config, agent, lambda: progress, (point.branch, point.parent_id))])
