"""Stored runs: what a checkpoint tells of a run, read without its crew or flow."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, cast

from langgraph.checkpoint.base import CheckpointTuple

from crewgraph.compiler.crew.graph import node_task
from crewgraph.compiler.crew.state import INPUTS, PLANNING, TASK
from crewgraph.compiler.flow.completion import around
from crewgraph.core.operations import Operation, Program, Saving, drive
from crewgraph.core.pregel import coming, given_to, leads_on
from crewgraph.definitions.crew.crew import Crew
from crewgraph.errors import RunError
from crewgraph.runtime.execution import refuse_without_async_face
from crewgraph.runtime.runs.metadata import CREW_NAME, FLOW_NAME, FORKED_FROM, branch, id_of, known_as

__all__ = ["StoredCrewRun", "StoredRun", "read_past", "read_stored_run", "stored_run"]


_NO_TASKS = (INPUTS, PLANNING)
"""Channels of a crew's graph that are none of its tasks'."""


@dataclass(frozen=True)
class StoredRun:
    """A run of a crew or a flow as of one checkpoint."""

    checkpoint: CheckpointTuple

    @property
    def thread_id(self) -> str:
        """The run."""
        return str(self.address["thread_id"])

    @property
    def address(self) -> Mapping[str, Any]:
        """Where the checkpoint is: `thread_id`, `checkpoint_ns`, `checkpoint_id`."""
        return self.checkpoint.config.get("configurable") or {}

    @property
    def checkpoint_id(self) -> str:
        """The checkpoint."""
        return id_of(self.checkpoint.config)

    @property
    def created_at(self) -> datetime:
        """When the checkpoint was made."""
        return datetime.fromisoformat(self.checkpoint.checkpoint["ts"])

    @property
    def inside(self) -> str | None:
        """The thread of the flow in whose method it ran."""
        return around(self.thread_id)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What the checkpoint tells of the run."""
        return cast("Mapping[str, Any]", self.checkpoint.metadata)

    @property
    def _stored(self) -> Mapping[str, object]:
        return self.checkpoint.checkpoint["channel_values"]

    @property
    def _versions(self) -> Mapping[str, Any]:
        return self.checkpoint.checkpoint["channel_versions"]


class StoredCrewRun(StoredRun):
    """A run of a crew as of one checkpoint."""

    @property
    def crew(self) -> str | None:
        """The name of the crew; None where a graph of a user's own ran it."""
        return self.metadata.get(CREW_NAME)

    @property
    def forked_from(self) -> str | None:
        """The run that it came from, where this is its first checkpoint."""
        return self.metadata.get(FORKED_FROM)

    @property
    def inputs(self) -> dict[str, Any]:
        """What the run was given."""
        return dict(self.values.get(INPUTS) or {})

    @property
    def next(self) -> tuple[str, ...]:
        """The tasks that are to run, or to be skipped."""
        return tuple(dict.fromkeys(map(node_task, coming(self._stored))))

    @cached_property
    def values(self) -> dict[str, Any]:
        """What this run has left in the graph's state; in a thread of several runs, what one before left is not in it."""
        if (given := given_to(self._stored)) is not None:
            return dict(given)
        return {name: value for name, value in self._stored.items() if self._is_of_this_run(name)}

    @cached_property
    def outputs(self) -> dict[str, dict[str, Any]]:
        """What its tasks gave, as plain data, in the order in which they completed."""
        found = {name: value for name, value in self.values.items() if _is_output(name, value)}
        # Several have the same version: those that ran beside each other, and those that a fork took over.
        return dict(sorted(found.items(), key=lambda item: (self.version(item[0]), _number(item[1]), item[0])))

    @cached_property
    def finished(self) -> dict[str, dict[str, Any]]:
        """The same with those that completed since the checkpoint, beside a task that has not."""
        since = {name: value for _, name, value in self.checkpoint.pending_writes or () if _is_output(name, value)}
        return {**self.outputs, **since}

    def last_task(self, order: Mapping[str, int]) -> str | None:
        """The channel of the task that was written last; known without the channels' values.

        Args:
            order: the places of the tasks in their crew, by their channels.
        """
        versions = self._versions
        tasks = [name for name in versions if name != INPUTS and INPUTS in versions and self._is_of_this_run(name)]
        # Several have the same version: those that ran beside each other, and those that a fork took over.
        return max(tasks, key=lambda name: (versions[name], order.get(name, 0), name), default=None)

    def _is_of_this_run(self, channel: str) -> bool:
        """Whether a channel holds something that this run has left, and none before it in its thread."""
        first = self._versions.get(INPUTS)
        if leads_on(channel) or channel.startswith("__"):
            return False
        return first is None or self._versions.get(channel, first) >= first

    def version(self, channel: str) -> object:
        """What tells whether a channel was written between two checkpoints; greater for what was written later."""
        return self._versions.get(channel)


def _is_output(name: str, value: Any) -> bool:
    return name not in _NO_TASKS and isinstance(value, dict) and "raw" in value and "agent" in value


def _number(output: Mapping[str, object]) -> int:
    """The place of a task among its crew's, where its output tells."""
    told: object = output.get(TASK)
    return int(cast("dict[str, Any]", told).get("number", 0)) if isinstance(told, dict) else 0


class _ReadPast(Operation):
    """The checkpoints of a thread, the latest first."""

    def __init__(self, saver: Any, thread_id: str) -> None:
        self.saver, self.config = saver, _place(thread_id)

    def run(self) -> list[CheckpointTuple]:
        return list(self.saver.list(self.config))

    async def arun(self) -> list[CheckpointTuple]:
        refuse_without_async_face(self.saver)
        return [one async for one in self.saver.alist(self.config)]


class _ReadOne(Saving):
    """One checkpoint of a thread."""

    async def arun(self) -> object:
        refuse_without_async_face(self.saver)
        return await super().arun()


def stored_run(saver: object, thread_id: str) -> StoredCrewRun:
    """A run as of its latest checkpoint.

    Raises:
        RunError: it is not kept.
    """
    return drive(read_stored_run(saver, thread_id))


def read_stored_run(
    saver: object, thread_id: str, checkpoint_id: str | None = None, crew: Crew | None = None
) -> Program[StoredCrewRun]:
    """A run as of a checkpoint, the latest one where None.

    Raises:
        RunError: it is not kept, or is none of this crew.
    """
    config = _place(thread_id)
    if checkpoint_id is not None:
        config["configurable"]["checkpoint_id"] = checkpoint_id
    found = yield _ReadOne(saver, "get_tuple", config)
    if found is None and checkpoint_id is not None:
        raise RunError(
            f"checkpoint `{checkpoint_id}` of thread `{thread_id}` is not kept any more (`keep_history`), or never was; "
            "`crew.history(thread_id)` tells those that are"
        )
    return _of(found, thread_id, saver, crew)


def read_past(saver: object, thread_id: str, crew: Crew | None = None) -> Program[list[StoredCrewRun]]:
    """A run as of all of its checkpoints, the latest last.

    Raises:
        RunError: it is not kept, or is none of this crew.
    """
    found: list[CheckpointTuple] = yield _ReadPast(saver, thread_id)
    _of(found[0] if found else None, thread_id, saver, crew)
    past = [StoredCrewRun(one) for one in branch(found)]
    begins = [n for n, one in enumerate(past) if one.checkpoint.metadata.get("source") == "input"]
    # In a thread of several runs it is the last one that counts; what comes behind its input is what it did.
    return past[begins[-1] + 1 :] or past[-1:] if begins else past


def _place(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


def _of(found: CheckpointTuple | None, thread_id: str, saver: object, crew: Crew | None) -> StoredCrewRun:
    if found is None:
        raise RunError(
            f"there is no run of thread `{thread_id}` in the {type(saver).__name__}. Look at the thread's name, and at whether "
            "this is the place it was kept in (`checkpointer=`, CREWGRAPH_STORAGE_DIR)."
        )
    run = StoredCrewRun(found)
    if FLOW_NAME in run.metadata:
        raise RunError(
            f"thread `{thread_id}` holds a run of flow `{run.metadata[FLOW_NAME]}`, not of a crew; "
            "`flow.history(flow_id)` tells of it"
        )
    if run.crew is None and not (INPUTS in run.values or run.outputs):
        raise RunError(f"thread `{thread_id}` holds no run of a crew, but of some other graph")
    if crew is not None and run.crew not in (None, known_as(crew.name)):
        raise RunError(
            f"thread `{thread_id}` holds a run of crew `{run.crew}`, not of crew `{known_as(crew.name)}`; `crew.runs()` lists "
            "those of a crew"
        )
    return run
