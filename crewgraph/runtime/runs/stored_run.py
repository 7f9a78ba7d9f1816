"""Stored runs: read from their checkpoints, without the definition of the crew or flow."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, cast

from langgraph.checkpoint.base import CheckpointTuple

from crewgraph.compiler.crew.graph import node_task
from crewgraph.compiler.crew.state import INPUTS, PLANNING, TASK
from crewgraph.core.operations import Program, Saving, collected, drive
from crewgraph.core.past import checkpoint_id_of, lineage
from crewgraph.core.pregel import ERROR, coming, executions, interrupts_in, leads_on, pending_input
from crewgraph.core.questions import questions_in
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.errors import RunError, UnknownRun
from crewgraph.runtime.runs.metadata import CREW_NAME, FLOW_NAME, FORKED_FROM, shown_name, stored_crew_name
from crewgraph.schema import PlainDict, PlainMapping, is_object
from crewgraph.text import storable_id


@dataclass(frozen=True)
class StoredRun:
    """A run of a crew or a flow as of one checkpoint."""

    checkpoint: CheckpointTuple

    @property
    def thread_id(self) -> str:
        return str(self.address["thread_id"])

    @property
    def address(self) -> PlainMapping:
        """The checkpoint's `thread_id`, `checkpoint_ns` and `checkpoint_id`."""
        return self.checkpoint.config.get("configurable") or {}

    @property
    def checkpoint_id(self) -> str:
        return checkpoint_id_of(self.checkpoint.config)

    @property
    def created_at(self) -> datetime:
        """When the checkpoint was created."""
        return datetime.fromisoformat(self.checkpoint.checkpoint["ts"])

    @property
    def inside(self) -> str | None:
        """The thread of the flow that the run was nested in."""
        from crewgraph.compiler.flow.record import enclosing_thread

        return enclosing_thread(self.thread_id)

    @property
    def metadata(self) -> PlainMapping:
        return cast("PlainMapping", self.checkpoint.metadata)

    @property
    def _stored(self) -> Mapping[str, object]:
        return self.checkpoint.checkpoint["channel_values"]

    @property
    def _versions(self) -> PlainMapping:
        return self.checkpoint.checkpoint["channel_versions"]


class StoredCrewRun(StoredRun):
    """A run of a crew as of one checkpoint."""

    @property
    def crew(self) -> str | None:
        """The name of the crew; None if a user's own graph ran it."""
        return self.metadata.get(CREW_NAME)

    @property
    def shown_name(self) -> str:
        """The name by which `crewgraph runs` lists the run."""
        return shown_name(self.metadata) or "unknown"

    @property
    def forked_from(self) -> str | None:
        """The thread that the run was forked from; only in the run's first checkpoint."""
        return self.metadata.get(FORKED_FROM)

    @property
    def inputs(self) -> PlainDict:
        """The run's inputs."""
        return dict(self.values.get(INPUTS) or {})

    @property
    def next(self) -> tuple[str, ...]:
        """The tasks to run or skip next."""
        return tuple(dict.fromkeys(map(node_task, coming(self._stored))))

    @property
    def errors(self) -> dict[str, str]:
        """What tasks failed with since the checkpoint; those that were cancelled because another one failed have not."""
        writes, tasks = self.checkpoint.pending_writes or (), self._coming
        failed = {name: str(value) for name, channel, value in writes if channel == ERROR and name in tasks}
        return {tasks[name]: text for name, text in failed.items() if not text.startswith("CancelledError(")}

    @property
    def waits(self) -> tuple[str, ...]:
        """The tasks that wait for an answer."""
        writes = self.checkpoint.pending_writes or ()
        unanswered = {question.id for question in questions_in(writes)}

        def is_asked(execution: str) -> bool:
            own = [write for write in writes if write[0] == execution]
            return any(question.id in unanswered for question in interrupts_in(own))

        return tuple(task for execution, task in self._coming.items() if is_asked(execution))

    @cached_property
    def _coming(self) -> dict[str, str]:
        """The tasks to run or skip next, by LangGraph's ids of their executions."""
        return {name: node_task(node) for name, node in executions(self.checkpoint).items()}

    @cached_property
    def values(self) -> PlainDict:
        """The channel values that this run wrote, without those of earlier runs in the same thread."""
        if (values := pending_input(self._stored)) is not None:
            return dict(values)
        return {name: value for name, value in self._stored.items() if self._is_of_this_run(name)}

    @cached_property
    def outputs(self) -> dict[str, PlainDict]:
        """The outputs of the completed tasks as plain data, by channel, in order of completion."""
        outputs = {name: value for name, value in self.values.items() if _is_output(name, value)}
        # Parallel tasks share a version, as do outputs that a fork copied.
        return dict(sorted(outputs.items(), key=lambda item: (self.version(item[0]), _task_number(item[1]), item[0])))

    @property
    def finished_since(self) -> dict[str, PlainDict]:
        """The outputs of tasks that completed since the checkpoint while a parallel task has not."""
        return {name: value for _, name, value in self.checkpoint.pending_writes or () if _is_output(name, value)}

    @cached_property
    def finished(self) -> dict[str, PlainDict]:
        """The `outputs`, with those of tasks that completed since the checkpoint while a parallel task has not."""
        return {**self.outputs, **self.finished_since}

    def last_task(self, order: Mapping[str, int]) -> str | None:
        """Return the channel of the task written last; needs no channel values.

        Args:
            order: the position of each task in its crew, by channel.
        """
        versions = self._versions
        tasks = [name for name in versions if name != INPUTS and INPUTS in versions and self._is_of_this_run(name)]
        # Parallel tasks share a version, as do outputs that a fork copied.
        return max(tasks, key=lambda name: (versions[name], order.get(name, 0), name), default=None)

    def _is_of_this_run(self, channel: str) -> bool:
        """Return whether this run wrote the channel, rather than an earlier one in the thread."""
        first = self._versions.get(INPUTS)
        if leads_on(channel) or channel.startswith("__"):
            return False
        return first is None or self._versions.get(channel, first) >= first

    def version(self, channel: str) -> Any:
        """Return the version of a channel; it grows with each write."""
        return self._versions.get(channel)


def _is_output(name: str, value: object) -> bool:
    return name not in (INPUTS, PLANNING) and isinstance(value, dict) and "raw" in value and "agent" in value


def _task_number(output: PlainDict) -> int:
    """Return the task number that an output is labelled with, else 0."""
    task = output.get(TASK)
    return int(task.get("number", 0)) if is_object(task) else 0


def stored_run(saver: Any, thread_id: str) -> StoredCrewRun:
    """Return a run as of its latest checkpoint.

    Raises:
        UnknownRun: the run is not stored.
    """
    return drive(read_stored_run(saver, thread_id))


def read_stored_run(
    saver: object, thread_id: str, checkpoint_id: str | None = None, crew: CrewDefinition | None = None
) -> Program[StoredCrewRun]:
    """Return a run as of a checkpoint; None means the latest one.

    Raises:
        UnknownRun: the run is not stored.
        RunError: it belongs to another crew.
    """
    config = _thread_config(thread_id)
    if checkpoint_id is not None:
        config["configurable"]["checkpoint_id"] = checkpoint_id
    checkpoint = yield Saving(saver, "get_tuple", config)
    if checkpoint is None and checkpoint_id is not None:
        raise RunError(
            f"checkpoint `{checkpoint_id}` of thread `{thread_id}` is not stored, or no longer (`keep_history`); "
            "`crew.history(thread_id)` lists the stored ones"
        )
    return _crew_run(checkpoint, thread_id, saver, crew)


def read_past(saver: Any, thread_id: str, crew: CrewDefinition | None = None) -> Program[list[StoredCrewRun]]:
    """Return a run as of each of its checkpoints, oldest first.

    Raises:
        UnknownRun: the run is not stored.
        RunError: it belongs to another crew.
    """
    checkpoints: list[CheckpointTuple] = yield collected(saver, "list", _thread_config(thread_id))
    _crew_run(checkpoints[0] if checkpoints else None, thread_id, saver, crew)
    past = [StoredCrewRun(run) for run in lineage(checkpoints)]
    begins = [n for n, run in enumerate(past) if run.checkpoint.metadata.get("source") == "input"]
    # Of several runs in a thread only the last one is returned; its steps follow its input.
    return past[begins[-1] + 1 :] or past[-1:] if begins else past


def _thread_config(thread_id: str) -> Any:
    return {"configurable": {"thread_id": storable_id(str(thread_id), "thread"), "checkpoint_ns": ""}}


def _crew_run(
    checkpoint: CheckpointTuple | None, thread_id: str, saver: Any, crew: CrewDefinition | None
) -> StoredCrewRun:
    if checkpoint is None:
        raise UnknownRun(
            f"there is no run of thread `{thread_id}` in the {type(saver).__name__}. Check the thread's name, which "
            "`crewgraph runs` lists, and whether the run was stored there (`checkpointer=`, CREWGRAPH_STORAGE_DIR)."
        )
    run = StoredCrewRun(checkpoint)
    if FLOW_NAME in run.metadata:
        raise RunError(
            f"thread `{thread_id}` holds a run of flow `{run.metadata[FLOW_NAME]}`, not of a crew; "
            "use `flow.history(flow_id)`"
        )
    if run.crew is None and not (INPUTS in run.values or run.outputs):
        raise RunError(f"thread `{thread_id}` holds a run of another graph, not of a crew")
    if crew is not None and run.crew not in (None, stored_crew_name(crew.name)):
        raise RunError(
            f"thread `{thread_id}` holds a run of crew `{run.shown_name}`, not of crew `{stored_crew_name(crew.name)}`; "
            "`crew.runs()` lists those of a crew"
        )
    return run
