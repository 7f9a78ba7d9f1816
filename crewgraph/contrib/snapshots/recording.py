"""Snapshots of the runs of crews, flows and agents, made while they run."""

import logging
import os
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
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.checkpoints import CheckpointSettings
from crewgraph.definitions.crew.crew import Crew
from crewgraph.errors import StorageError
from crewgraph.events.base import BaseEvent, brief
from crewgraph.events.bus import RUNTIME_STATE, crewai_event_bus
from crewgraph.events.checkpoint import CheckpointPrunedEvent
from crewgraph.events.lineage import ENDS, STARTS, scope_event
from crewgraph.events.llm import LLMStreamChunkEvent
from crewgraph.events.stream_context import WITNESSES
from crewgraph.events.task import TaskCompletedEvent
from crewgraph.runtime.run_hooks import SnapshotOrigin
from crewgraph.runtime.run_target import RunPlace
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

__all__ = [
    "CrewRecording",
    "FlowRecording",
    "KickoffPoint",
    "Recording",
    "SnapshotRecorder",
    "agent_kickoff",
    "saver_at",
    "saver_of_runs",
]

_log = logging.getLogger("crewgraph")
_lock = threading.Lock()
_savers: dict[Path, SqliteCheckpointer] = {}


def saver_of_runs(checkpoint: CheckpointSettings | bool) -> SqliteCheckpointer:
    """The database beside the snapshots of a `checkpoint` field, opened once in a process.

    Raises:
        StorageError: it cannot be opened.
    """
    return saver_at((config_of(checkpoint) or CheckpointConfig()).runs)


def saver_at(file: Path) -> SqliteCheckpointer:
    """A database, opened once in a process.

    Raises:
        StorageError: it cannot be opened.
    """
    path = file.resolve()
    with _lock:
        if path not in _savers:
            _savers[path] = SqliteCheckpointer(path)
        return _savers[path]


def _database_of(saver: Any) -> str | None:
    """The file of a checkpointer; None for one without a file."""
    return str(saver.path) if isinstance(saver, SqliteCheckpointer) and saver.path is not None else None


class SnapshotRecorder:
    """Makes a snapshot for each event that a config names.

    Args:
        config: which events, and where.
        entity: the crew, flow or agent.
        point: which run that is and how far; called for each snapshot.
        concerns: whether an event counts.
        origin: the branch, and the snapshot before the first one.
    """

    def __init__(
        self,
        config: CheckpointConfig,
        entity: Any,
        point: Callable[[], dict[str, Any]],
        origin: tuple[str, str | None],
        concerns: Callable[[Any, BaseEvent], bool] | None = None,
    ) -> None:
        self._config, self._point, self._concerns = config, point, concerns
        self._state = RuntimeState([entity])
        self._state.provider = config.provider
        self._state.follow(*origin)
        self._lock = threading.RLock()

    @property
    def state(self) -> RuntimeState:
        """What runs, with the events so far."""
        return self._state

    def wants(self, event_type: type[BaseEvent], /) -> bool:
        """See `Witness`."""
        kind: object = event_type.model_fields["type"].default
        if kind in self._config.trigger_events or kind in STARTS or kind in ENDS:
            return True
        return self._config.trigger_all and not issubclass(event_type, LLMStreamChunkEvent) and not _is_own(str(kind))

    def hear(self, source: Any, event: BaseEvent, /) -> None:
        """See `Witness`."""
        if _is_own(event.type):
            return
        with self._lock:
            self._state.event_record.add(event)
            triggered = self._config.trigger_all or event.type in self._config.trigger_events
            if triggered and (self._concerns is None or self._concerns(source, event)):
                self._record(event.type)

    def begin(self) -> None:
        """Write down that the run has begun: one that is stopped before its first snapshot can be continued, too."""
        path = self._config.begun
        data = self._state.noted([self._point()]).model_dump_json()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = path.with_suffix(".tmp")
        with open(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(data)
        written.replace(path)

    def _record(self, trigger: str) -> None:
        try:
            self._state.noted([self._point()], trigger).checkpoint(self._config.location)
        except StorageError as error:
            _log.warning("%s; the run goes on", error)  # it is stored in its database
            return
        most, branch = self._config.max_checkpoints, self._state.branch
        if most is None or most < 1:
            return
        removed = self._config.provider.prune(self._config.location, most, branch=branch)
        if removed:
            event = CheckpointPrunedEvent(
                location=self._config.location,
                provider=type(self._config.provider).__name__,
                trigger=trigger,
                branch=branch,
                parent_id=self._state.parent_id,
                removed_count=removed,
                max_checkpoints=most,
            )
            crewai_event_bus.emit(self._config, event)


def _is_own(kind: str) -> bool:
    return kind.startswith("checkpoint_")


class Recording:
    """A block whose events recorders hear; a `RunObserver`."""

    _before: tuple[Any, Any]

    def __init__(self, recorders: Sequence[SnapshotRecorder]) -> None:
        self._recorders = recorders

    def __enter__(self) -> None:
        for recorder in self._recorders:
            recorder.begin()
        self._before = WITNESSES.get(), RUNTIME_STATE.get()
        if self._recorders:
            WITNESSES.set((*self._before[0], *self._recorders))
            RUNTIME_STATE.set(self._recorders[0].state)

    def __exit__(self, *_: object) -> None:
        witnesses, state = self._before
        WITNESSES.set(witnesses)
        RUNTIME_STATE.set(state)


class CrewRecording(Recording):
    """Snapshots of a crew's run, as the crew, or its agents, ask for."""

    def __init__(
        self,
        crew: Crew,
        place: RunPlace,
        tasks: Sequence[TaskBinding],
        inputs: Mapping[str, Any],
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
    """How far a crew's run is."""

    def __init__(
        self, place: RunPlace, tasks: Sequence[TaskBinding], inputs: Mapping[str, Any], outputs: Mapping[str, Any]
    ) -> None:
        self._place, self._inputs, self._outputs = place, dict(inputs), dict(outputs)
        self._tasks = {id(one.task): one for one in tasks}

    def update(self, event: BaseEvent) -> None:
        """Take in what an event says of it."""
        if isinstance(event, TaskCompletedEvent) and (one := self._tasks.get(id(event.task))) is not None:
            self._outputs[one.slug] = one.labelled(event.output.to_plain())

    def point(self) -> dict[str, Any]:
        """How far it is now."""
        return {
            "thread_id": self._place.shown_thread,
            "database": _database_of(self._place.checkpointer),
            "inputs": self._inputs,
            "outputs": dict(self._outputs),
        }


class _CrewRecorder(SnapshotRecorder):
    """Knows how far a crew is, whatever the snapshot is made for."""

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

    def hear(self, source: Any, event: BaseEvent, /) -> None:
        self._progress.update(event)
        if event.type == "crew_kickoff_started" and source is self._crew:
            self._crew.checkpoint_kickoff_event_id = scope_event()
        super().hear(source, event)


def _crew_recorders(crew: Crew, progress: _CrewProgress, origin: tuple[str, str | None]) -> Generator[SnapshotRecorder]:
    agents = dict.fromkeys([*crew.agents, *(task.agent for task in crew.tasks if task.agent is not None)])
    config = config_of(crew.checkpoint)
    if config is not None:
        left_out = [one for one in agents if one.checkpoint is False]
        yield _CrewRecorder(progress, crew, config, partial(_is_of_others, left_out), origin)
        return
    for agent in agents:
        if (own := config_of(agent.checkpoint)) is not None:
            yield _CrewRecorder(progress, crew, own, partial(_is_of, [agent]), origin)


def _is_of_others(agents: Sequence[BaseAgent], source: Any, event: BaseEvent) -> bool:
    return not _is_of(agents, source, event)


def _is_of(agents: Sequence[BaseAgent], source: Any, event: BaseEvent) -> bool:
    return any(source is one or event.agent_id == str(one.id) or getattr(event, "agent", None) is one for one in agents)


class FlowRecording(Recording):
    """Snapshots of a flow's run, which is stored in a checkpointer."""

    def __init__(self, run: FlowRun, saver: Any) -> None:
        self._run, self._saver = run, saver
        flow, config = run.flow, config_of(run.flow.checkpoint)
        origin = flow.checkpoint_origin or ("main", None)
        super().__init__([] if config is None else [SnapshotRecorder(config, flow, self._point, origin)])

    def _point(self) -> dict[str, Any]:
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


def _plain(state: Any) -> dict[str, Any]:
    """A state as plain data, to be looked at: the run itself has all of it."""
    values: Any = state.model_dump(mode="json") if isinstance(state, BaseModel) else brief(dict(state or {}))
    return values


@dataclass(frozen=True)
class KickoffPoint:
    """What an agent's kickoff continues from."""

    thread_id: str | None
    """The kickoff; None for a new one."""

    database: str | None
    branch: str
    parent_id: str | None


class _AgentRecorder(SnapshotRecorder):
    """Writes down with which event the kickoff began, too."""

    def hear(self, source: Any, event: BaseEvent, /) -> None:
        if event.type == "lite_agent_execution_started" and source is self.state.root[0]:
            source.checkpoint_kickoff_event_id = event.event_id
        super().hear(source, event)


def agent_kickoff(
    agent: BaseAgent, start: KickoffPoint | None, inputs: Mapping[str, Any]
) -> tuple[RunPlace | None, Recording | None]:
    """Where an agent's own kickoff is stored, and what makes its snapshots; None where neither is asked for.

    Args:
        agent: the agent.
        start: what it continues from; None for a kickoff that begins.
        inputs: what it is asked.
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
    now = {"thread_id": place.thread_id, "database": _database_of(saver), "inputs": dict(inputs)}
    return place, Recording([_AgentRecorder(config, agent, lambda: now, (point.branch, point.parent_id))])
