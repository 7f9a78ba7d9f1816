"""Makes checkpoints of crews, flows and agents while they run: addresses in the databases of their runs."""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from langgraph.checkpoint.base import empty_checkpoint
from pydantic import PrivateAttr, RootModel

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
from crewgraph.events.llm import LLMStreamChunkEvent
from crewgraph.events.stream_context import LISTENING
from crewgraph.events.task import TaskCompletedEvent
from crewgraph.runtime.runs.storage import RunPlace, checkpointer_at
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
    """What runs with checkpoints; listeners with a third parameter get it."""

    root: list[Any]
    """The crew, flow or agent."""

    _recorder: "_Recorder | None" = PrivateAttr(default=None)

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


class _Recorder:
    """Makes a checkpoint for each event that a config names.

    Args:
        config: The events, and where the run is stored.
        entity: The crew, flow or agent.
        saver: The checkpointer of the run.
        thread: The thread of the run.
        inputs: The inputs of the run.
        tasks: The tasks of a crew's run.
        flow_run: A flow's run.
        concerns: Filters events.
    """

    def __init__(
        self,
        config: CheckpointConfig,
        entity: Any,
        saver: object,
        thread: str,
        inputs: PlainMapping,
        tasks: Sequence[TaskBinding] = (),
        flow_run: FlowRun | None = None,
        concerns: Callable[[Any, BaseEvent], bool] | None = None,
    ) -> None:
        self.config, self._flow_run, self._concerns = config, flow_run, concerns
        self._tasks = {id(binding.task): binding.slug for binding in tasks}
        self._saver = saver if isinstance(saver, SqliteCheckpointer) else None
        file = Path((self._saver and self._saver.path) or config.runs)
        self._address = Address(config.runs if file == off_loop(config.runs.absolute) else file, thread)
        branch, self._parent, self._last = entity.checkpoint_origin or ("main", None, "")
        self._fields: PlainDict = {"provider": type(config.provider).__name__, "branch": branch}
        self._run = {
            "entity_type": entity.entity_type,
            "definition": describe_definition(entity),
            "inputs": dict(inputs),
            "is_here": self._saver is not None,  # else the crew's or flow's own checkpointer has its steps
            "branch": branch,
            "parent": self._parent,
        }
        self.state = RuntimeState([entity])
        self.state._recorder = self  # pyright: ignore[reportPrivateUsage]
        self._made = 0
        self._lock = threading.RLock()

    def wants(self, event_type: type[BaseEvent], /) -> bool:
        """See `ContextListener`."""
        return event_type is TaskCompletedEvent or self._is_trigger(event_type)

    def _is_trigger(self, event_type: type[BaseEvent]) -> bool:
        kind = str(event_type.model_fields["type"].default)
        return kind in self.config.trigger_events or (
            self.config.trigger_all
            and not issubclass(event_type, LLMStreamChunkEvent)
            and not kind.startswith("checkpoint_")
        )

    def on_event(self, source: Any, event: BaseEvent, /) -> None:
        """See `ContextListener`."""
        if isinstance(event, TaskCompletedEvent):
            self._last = self._tasks.get(id(event.task), self._last)
        if self._is_trigger(type(event)) and (self._concerns is None or self._concerns(source, event)):
            self.record(event.type)

    def begin(self) -> None:
        """Store what runs, so that it can continue even if it stops before its first checkpoint."""
        checkpoint: Any = {
            **empty_checkpoint(),
            "channel_values": {"run": {**self._run, "thread": self._address.thread}},
            "channel_versions": {"run": "1"},
        }
        place: Any = {"configurable": {"thread_id": self._address.thread, "checkpoint_ns": DEFINITION}}
        metadata: Any = {"source": "input", "step": -1, "parents": {}, DEFINITION: True}
        off_loop(checkpointer_at(self._address.file).put, place, checkpoint, metadata, {"run": "1"})

    def record(self, trigger: str | None) -> str:
        """Make a checkpoint and return its address."""
        with self._lock:
            start, location = time.perf_counter(), self.config.location
            fields: PlainDict = {**self._fields, "trigger": trigger, "parent_id": self._parent}
            crewai_event_bus.emit(self.config, CheckpointStartedEvent(location=location, **fields))
            executed = None if self._flow_run is None else str(sum(self._flow_run.completed.values()))
            address = str(self._address._replace(reached=executed or self._last))
            self._made, self._parent = self._made + 1, address
            duration_ms = (time.perf_counter() - start) * 1000
            completed = CheckpointCompletedEvent(
                location=address, checkpoint_id=address, duration_ms=duration_ms, **fields
            )
            crewai_event_bus.emit(self.config, completed)
            kept = self.config.max_checkpoints
            if kept is not None and 0 < kept < self._made and self._saver is not None:
                self._saver.prune([str(self._address.thread)], count=kept, shrink=False)
                fields["parent_id"] = address
                pruned = CheckpointPrunedEvent(location=location, removed_count=1, max_checkpoints=kept, **fields)
                crewai_event_bus.emit(self.config, pruned)
            return address


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


def record_crew(crew: Crew, place: RunPlace, tasks: Sequence[TaskBinding], inputs: PlainMapping) -> Recording:
    """Return what makes the checkpoints of a crew's run, for the crew or its agents."""
    if place.checkpointer is False:
        return Recording([])
    recorder = partial(
        _Recorder, entity=crew, saver=place.checkpointer, thread=str(place.shown_thread), inputs=inputs, tasks=tasks
    )
    agents = agents_of(crew)
    if (config := config_of(crew.checkpoint)) is not None:
        excluded = [agent for agent in agents if agent.checkpoint is False]
        return Recording([recorder(config, concerns=lambda source, event: not _is_of(excluded, source, event))])
    configs = [(agent, config) for agent in agents if (config := config_of(agent.checkpoint)) is not None]
    return Recording([recorder(config, concerns=partial(_is_of, [agent])) for agent, config in configs])


def _is_of(agents: Sequence[BaseAgentDefinition], source: object, event: BaseEvent) -> bool:
    owner = getattr(event, "agent", None)
    return any(source is agent or event.agent_id == str(agent.id) or owner is agent for agent in agents)


def record_flow(run: FlowRun, saver: object) -> Recording:
    """Return what makes the checkpoints of a flow's run."""
    config = config_of(run.flow.checkpoint)
    if config is None:
        return Recording([])
    return Recording([_Recorder(config, run.flow, saver, str(run.thread_id), brief(run.inputs), flow_run=run)])


def agent_kickoff(
    agent: BaseAgentDefinition, start: Address | None, inputs: PlainMapping
) -> tuple[RunPlace | None, Recording | None]:
    """Return where a standalone kickoff is stored and what makes its checkpoints; None for either that is not configured.

    Args:
        agent: The agent.
        start: The run to continue, or with no thread the database for a new one; None for a new kickoff.
        inputs: The inputs of the kickoff.
    """
    config = config_of(agent.checkpoint)
    file = start.file if start is not None else None if config is None else config.runs
    if file is None:
        return None, None
    saver, thread = checkpointer_at(file), (start and start.thread) or str(uuid4())
    place = RunPlace(checkpointer=saver, thread_id=thread, detached=True)
    return place, None if config is None else Recording([_Recorder(config, agent, saver, thread, inputs)])
