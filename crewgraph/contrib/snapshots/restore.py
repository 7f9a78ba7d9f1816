"""Restores crews, flows and agents from checkpoints: their next kickoff resumes the run, or forks it."""

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any, Literal, cast
from uuid import uuid4

from crewgraph.compiler.crew.inputs import plain_inputs
from crewgraph.compiler.crew.state import INPUTS
from crewgraph.contrib.snapshots.config import Address, as_config
from crewgraph.contrib.snapshots.described import recreate_definition
from crewgraph.contrib.snapshots.recording import DEFINITION
from crewgraph.core.current import RunResources
from crewgraph.core.operations import Program, drive
from crewgraph.crew import Crew
from crewgraph.definitions.checkpoints import CheckpointSettings
from crewgraph.definitions.run_options import RunOptions
from crewgraph.definitions.task.output import CrewOutput, TaskOutput
from crewgraph.errors import RunError, StorageError, UnknownRun
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.checkpoint import (
    CheckpointForkCompletedEvent,
    CheckpointForkStartedEvent,
    CheckpointRestoreCompletedEvent,
    CheckpointRestoreFailedEvent,
    CheckpointRestoreStartedEvent,
)
from crewgraph.flow.flow import Flow
from crewgraph.runtime.crew.graphs import graph_of
from crewgraph.runtime.crew.kickoff import CrewRun, resume_program, validate_inputs
from crewgraph.runtime.flow.kickoff import resume_flow_program
from crewgraph.runtime.runs.crew_fork import ForkRequest, crew_fork_program
from crewgraph.runtime.runs.flow_history import flow_steps, fork_program
from crewgraph.runtime.runs.storage import checkpointer_at, checkpointer_for, own_place
from crewgraph.runtime.runs.stored_run import StoredCrewRun, read_stored_run
from crewgraph.runtime.streaming.crew import CrewAudience
from crewgraph.schema import PlainDict, PlainMapping

_Kind = Literal["crew", "flow", "agent"]


@dataclass(frozen=True)
class _Point:
    """The point from which a run continues."""

    address: Address
    run: PlainMapping
    """What the recorder of the run stored when it began."""

    branch: str
    forks: bool = False
    """Whether a new run begins there in any case."""

    @property
    def thread(self) -> str:
        return self.run["thread"]

    @property
    def name(self) -> str:
        return str(self.address._replace(thread=self.thread))


def restore(kind: type[Any] | None, config: CheckpointSettings, branch: str | None = None) -> Any:
    """Create a crew, flow or agent from a checkpoint; see `Crew.from_checkpoint` and `Crew.fork`.

    Args:
        kind: The class; None for whatever ran.
        config: Selects the checkpoint.
        branch: None to continue the run; else the branch of a new run, "" to generate its name.
    """
    entity, point = _entity_and_point(config, None if kind is None else _kind_of(kind), kind)
    if branch is not None:
        name = branch or f"fork/{point.thread}_{uuid4().hex[:6]}"
        fields: PlainDict = {"branch": name, "parent_branch": point.branch, "parent_checkpoint_id": point.name}
        crewai_event_bus.emit(entity, CheckpointForkStartedEvent(**fields))
        crewai_event_bus.emit(entity, CheckpointForkCompletedEvent(**fields))
        point = replace(point, branch=name, forks=True)
    _start_next(entity, point)
    if point.run["entity_type"] == "flow":
        _show_state(entity, point)
    return entity


def restore_into(entity: Any, config: CheckpointSettings) -> None:
    """Make the next kickoff of a crew, flow or agent continue from a checkpoint."""
    _start_next(entity, _entity_and_point(config, _kind_of(entity.__class__))[1])


def _kind_of(kind: type[Any]) -> _Kind:
    return "flow" if issubclass(kind, Flow) else "crew" if issubclass(kind, Crew) else "agent"


def _entity_and_point(settings: CheckpointSettings, entity_type: _Kind | None, kind: Any = None) -> tuple[Any, _Point]:
    """Return what ran, recreated if `kind` is given, and the point; emits the events of a restore.

    Raises:
        ValueError: If there is no such checkpoint, or it is of something else.
        FileNotFoundError: If its file does not exist.
        StorageError: If its file cannot be read.
    """
    start, config = time.perf_counter(), as_config(settings)
    location = config.location if config.restore_from is None else str(config.restore_from)
    fields: PlainDict = {"location": location, "provider": type(config.provider).__name__}
    crewai_event_bus.emit(config, CheckpointRestoreStartedEvent(**fields))
    try:
        point = _point_at(config.resolve(), entity_type)
        if entity_type == "flow" and kind:
            entity = kind()
        else:
            is_wanted = entity_type is None or kind is not None
            entity = recreate_definition(point.run["definition"]) if is_wanted else None
    except (OSError, ValueError, StorageError) as error:
        crewai_event_bus.emit(config, CheckpointRestoreFailedEvent(**fields, error=str(error)))
        raise
    completed = CheckpointRestoreCompletedEvent(
        **fields,
        checkpoint_id=point.name,
        branch=point.branch,
        parent_id=point.run["parent"],
        duration_ms=(time.perf_counter() - start) * 1000,
    )
    crewai_event_bus.emit(config, completed)
    return entity, point


def _point_at(address: Address, entity_type: _Kind | None) -> _Point:
    place: Any = {"configurable": {"thread_id": address.thread, "checkpoint_ns": DEFINITION}}
    found = (
        next(checkpointer_at(address.file).list(None, filter={DEFINITION: True}, limit=1), None)
        if address.thread is None
        else checkpointer_at(address.file).get_tuple(place)
    )
    if found is None:
        of_thread = "" if address.thread is None else f" of thread {address.thread!r}"
        raise ValueError(f"there is no checkpoint{of_thread} in {str(address.file)!r}")
    run: PlainDict = found.checkpoint["channel_values"]["run"]
    if entity_type not in (None, run["entity_type"]):
        raise ValueError(f"the checkpoint contains no {entity_type}, only: {run['entity_type']}")
    return _Point(address, run, run["branch"])


def _start_next(entity: Any, point: _Point) -> None:
    """Make the next kickoff continue from a point."""
    origin = (point.branch, point.name, "")
    if isinstance(entity, Crew):
        entity.start_next_with(partial(_continued_crew, point), origin)
    elif isinstance(entity, Flow):
        flow = cast("Flow[Any]", entity)
        if flow.checkpointer is None:
            flow.checkpointer = checkpointer_at(point.address.file)
        flow.start_next_with(partial(_continued_flow, point), origin)
    else:
        entity.start_next_with(point.address._replace(thread=None if point.forks else point.thread), origin)


def _continued_crew(
    point: _Point, crew: Crew, inputs: PlainMapping | None, options: RunOptions, audience: CrewAudience | None
) -> Program[CrewOutput]:
    given = plain_inputs(validate_inputs(inputs or {}))
    home = checkpointer_at(point.address.file)
    saver = checkpointer_for(options.checkpointer, home if crew.checkpointer is None else crew.checkpointer)
    if saver is None:
        raise RunError("a run that continues from a checkpoint is stored: leave out `checkpointer=False`")
    source: Any = home if point.run["is_here"] else saver
    try:
        stored = yield from read_stored_run(source, point.thread, crew=crew)
    except UnknownRun:
        if not point.run["is_here"]:
            raise
        return (yield from _begun(point, crew, given, options, saver, audience))  # it stopped before its first step
    compiled = graph_of(crew, saver)
    names = [binding.slug for binding in compiled.tasks]
    known = _finished_at(stored, point.address.reached)
    done = [*takewhile(known.__contains__, names)]
    crew.start_next_with(None, (point.branch, point.name, done[-1] if done else ""))
    merged = {**stored.inputs, **given}
    resumes = source is saver and options.thread_id is None and not point.forks and merged == stored.inputs
    resumes = resumes and {*stored.finished} <= {*known}
    thread = point.thread if resumes else options.thread_id or str(uuid4())
    if audience is not None:
        audience.start(crew.name, thread, merged, compiled.tasks, compiled.planning)
    if resumes:
        return (yield from resume_program(crew, thread, saver))
    outputs, first = None, len(done)
    if first == len(names):  # there is nothing left to do
        first, last = first - 1, compiled.tasks[-1]
        outputs = {last.slug: TaskOutput.from_plain(stored.finished[last.slug], last.task.output_pydantic)}
    fork = ForkRequest(
        point=names[first],
        of=point.thread,
        outputs=outputs,
        inputs=given,
        thread_id=thread,
        checkpointer=saver,
        source=source,
    )
    return (yield from crew_fork_program(crew, fork))


def _begun(
    point: _Point, crew: Crew, given: PlainMapping, options: RunOptions, saver: Any, audience: CrewAudience | None
) -> Program[CrewOutput]:
    """Begin with the inputs of a run, which its `before_kickoff` functions have seen."""
    with closing(RunResources()) as resources:
        place = own_place(crew, options.thread_id, saver)
        run, inputs = CrewRun(crew, place, options.granularity, resources), {**point.run["inputs"], **given}
        run.check_inputs(inputs)
        if audience is not None:
            audience.start(crew.name, place.shown_thread, inputs, run.tasks, run.planning)
        return (yield from run.execute({INPUTS: inputs}, inputs))


def _finished_at(stored: StoredCrewRun, reached: str | None) -> Collection[str]:
    """Return the tasks that were complete when one of them was, "" for none; all if it is None, or not stored."""
    if reached == "":
        return ()
    if reached not in stored.outputs:
        return stored.finished
    last = stored.version(reached)  # tasks that ran in parallel share it
    return [name for name in stored.outputs if stored.version(name) <= last]


def _continued_flow(point: _Point, flow: "Flow[Any]", inputs: Mapping[str, object]) -> Program[Any]:
    steps = yield from flow_steps(flow, point.thread)
    done = _steps_up_to(steps, point)
    if len(done) == len(steps) and not point.forks and not inputs:
        return (yield from resume_flow_program(flow, point.thread, None))
    if not done:
        raise RunError(
            f"run `{point.thread}` of flow `{flow.flow_name}` no longer contains the point of the checkpoint (`keep_history`); "
            "continue from a later one"
        )
    return (yield from fork_program(flow, done[-1], dict(inputs) or None))


def _steps_up_to(steps: Sequence[Any], point: _Point) -> Sequence[Any]:
    """Return the steps of a flow's run up to a point."""
    if point.address.reached is None:
        return steps
    executions, most = 0, int(point.address.reached)
    for count, step in enumerate(steps):
        executions += len(step.methods)
        if executions > most:
            return steps[:count]
    return steps


def _show_state(flow: "Flow[Any]", point: _Point) -> None:
    try:
        done = _steps_up_to(drive(flow_steps(flow, point.thread)), point)
    except UnknownRun:
        return
    if done:
        flow.take_state(flow.restored_state(done[-1].state))
