"""Restores crews, flows and agents from checkpoints."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast
from uuid import uuid4

from crewgraph.compiler.crew.inputs import plain_inputs
from crewgraph.compiler.crew.state import INPUTS
from crewgraph.contrib.snapshots.config import Address, as_config
from crewgraph.contrib.snapshots.described import recreate_definition
from crewgraph.contrib.snapshots.recording import DEFINITION, KickoffPoint
from crewgraph.core.current import RunResources
from crewgraph.core.operations import Program, Saving, drive
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
from crewgraph.runtime.crew.kickoff import CrewRun, validate_inputs
from crewgraph.runtime.crew.results import check_stored
from crewgraph.runtime.flow.kickoff import resume_flow_program
from crewgraph.runtime.run_target import own_place, own_saver
from crewgraph.runtime.runs.crew_fork import ForkRequest, ForkStart
from crewgraph.runtime.runs.flow_history import flow_steps, fork_program
from crewgraph.runtime.runs.metadata import FORKED_FROM
from crewgraph.runtime.runs.storage import checkpointer_at, checkpointer_for
from crewgraph.runtime.runs.stored_run import StoredCrewRun, read_past
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
    def reached(self) -> str | None:
        return self.address.reached

    @property
    def name(self) -> str:
        return str(self.address._replace(thread=self.thread))

    @property
    def saver(self) -> Any:
        """The checkpointer of the run; None if its file is gone, or it has none."""
        file = self.run["database"]
        return checkpointer_at(Path(file)) if file is not None and Path(file).is_file() else None


def restore(kind: type[Any] | None, config: CheckpointSettings, branch: str | None = None) -> Any:
    """Create a crew, flow or agent from a checkpoint; see `Crew.from_checkpoint` and `Crew.fork`.

    Args:
        kind: The class; None for whatever ran.
        config: Selects the checkpoint.
        branch: None to continue the run; else the branch of a new run, "" to generate its name.
    """
    entity, point = _entity_and_point(config, None if kind is None else _kind_of(kind), kind)
    if branch is not None:
        point = _forked(entity, point, branch)
    if point.run["entity_type"] == "crew":
        entity.checkpoint_inputs = dict(point.run["inputs"])
    _start_next(entity, point)
    if point.run["entity_type"] == "flow":
        _show_progress(entity, point)
    return entity


def restore_into(entity: Any, config: CheckpointSettings) -> None:
    """Make the next kickoff of a crew, flow or agent continue from a checkpoint."""
    _start_next(entity, _entity_and_point(config, _kind_of(entity.__class__))[1])


def _kind_of(kind: type[Any]) -> _Kind:
    return "flow" if issubclass(kind, Flow) else "crew" if issubclass(kind, Crew) else "agent"


def _entity_and_point(config: CheckpointSettings, entity_type: _Kind | None, kind: Any = None) -> tuple[Any, _Point]:
    """Return what ran, recreated if `kind` is given, and the point; emits the events of a restore.

    Raises:
        ValueError: If there is no such checkpoint, or it is of something else.
        FileNotFoundError: If its file does not exist.
        StorageError: If its file cannot be read.
    """
    start, settings = time.perf_counter(), as_config(config)
    name = type(settings.provider).__name__
    location = settings.location if settings.restore_from is None else str(settings.restore_from)
    crewai_event_bus.emit(settings, CheckpointRestoreStartedEvent(location=location, provider=name))
    try:
        point = _point_at(settings.resolve(), entity_type)
        wanted = entity_type is None or kind is not None
        entity = (
            kind()
            if entity_type == "flow" and kind
            else recreate_definition(point.run["definition"])
            if wanted
            else None
        )
    except (OSError, ValueError, StorageError) as error:
        failed = CheckpointRestoreFailedEvent(location=location, provider=name, error=str(error))
        crewai_event_bus.emit(settings, failed)
        raise
    completed = CheckpointRestoreCompletedEvent(
        location=location,
        provider=name,
        checkpoint_id=point.name,
        branch=point.branch,
        parent_id=point.run["parent"],
        duration_ms=(time.perf_counter() - start) * 1000,
    )
    crewai_event_bus.emit(settings, completed)
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


def _forked(entity: object, point: _Point, branch: str) -> _Point:
    name = branch or f"fork/{point.thread}_{uuid4().hex[:6]}"
    fields: dict[str, Any] = {"branch": name, "parent_branch": point.branch, "parent_checkpoint_id": point.name}
    crewai_event_bus.emit(entity, CheckpointForkStartedEvent(**fields))
    crewai_event_bus.emit(entity, CheckpointForkCompletedEvent(**fields))
    return _Point(point.address, point.run, name, forks=True)


def _start_next(entity: Any, point: _Point) -> None:
    """Make the next kickoff continue from a point."""
    if isinstance(entity, Crew):
        entity.start_next_with(partial(_continued_crew, point))
    elif isinstance(entity, Flow):
        flow = cast("Flow[Any]", entity)
        if own_saver(flow) is None and (saver := point.saver) is not None:
            flow.checkpointer = saver
        flow.checkpoint_origin = (point.branch, point.name)
        flow.start_next_with(partial(_continued_flow, point))
    else:
        thread = None if point.forks else point.thread
        entity.start_next_with(KickoffPoint(thread, point.run["database"], point.branch, point.name))


def _continued_crew(
    point: _Point, crew: Crew, inputs: PlainMapping | None, options: RunOptions, audience: CrewAudience | None
) -> Program[CrewOutput]:
    with closing(RunResources()) as opened:
        saver = options.checkpointer if options.checkpointer is not None else own_saver(crew)
        source = point.saver
        saver = checkpointer_for(source if saver is None else saver)
        past = yield from _past(saver if source is None else source, point)
        stored = _stored_at(past, point.reached)
        known: PlainMapping = stored.inputs if stored is not None else point.run["inputs"]
        merged = {**known, **plain_inputs(validate_inputs(inputs or {}))}
        last = next(reversed(stored.outputs), "") if stored is not None else ""

        def run_in(thread: str | None) -> CrewRun:
            return CrewRun(crew, own_place(crew, thread, saver), "task", opened)

        def begun(run: CrewRun) -> CrewRun:
            run.origin = (point.branch, point.name, last)
            if audience is not None:
                audience.start(crew.name, run.place.shown_thread, merged, run.tasks, run.planning)
            return run

        is_latest = stored is None or {*past[-1].finished} <= {*stored.outputs}
        if options.thread_id is None and not point.forks and merged == known and is_latest and saver:
            run = run_in(point.thread)
            yield from run.claim_thread()
            state = yield Saving(run.graph, "get_state", run.config)
            if state.created_at is not None:
                run = begun(run.with_stored_granularity(state.metadata))
                check_stored(run.steps, state.values, point.thread)
                return (yield from run.execute(None, merged))
        run = begun(run_in(options.thread_id))
        if stored is None or not stored.outputs:
            run.check_inputs(merged, 0)
            return (yield from run.execute({INPUTS: merged}, merged))
        return (yield from _branched(run, stored, merged))


def _past(saver: object, point: _Point) -> Program[Sequence[StoredCrewRun]]:
    try:
        return (yield from read_past(saver, point.thread)) if saver else ()
    except UnknownRun:
        if saver is not point.saver:
            raise
        return ()  # it stopped before its first step


def _stored_at(past: Sequence[StoredCrewRun], reached: str | None) -> StoredCrewRun | None:
    """Return the run as of the checkpoint after which a task had completed; the latest if none is named, or it is not stored."""
    if not past:
        return None
    if reached == "":
        return past[0]
    return next((run for run in past if reached in run.outputs), past[-1])


def _branched(run: CrewRun, stored: StoredCrewRun, inputs: PlainDict) -> Program[CrewOutput]:
    """Begin a new run with the outputs of a stored one."""
    # What tasks that were running then wrote is not of this point.
    stored = StoredCrewRun(stored.checkpoint._replace(pending_writes=[]))
    last, done = run.tasks[-1], stored.outputs
    pending = [number for number, binding in enumerate(run.tasks) if binding.slug not in done]
    fork = ForkRequest(
        point=pending[0] if pending else len(run.tasks) - 1,
        of=stored.thread_id,
        outputs=None if pending else {last.slug: TaskOutput.from_plain(done[last.slug], last.task.output_pydantic)},
        inputs=inputs,
        thread_id=run.place.thread_id,
        checkpointer=run.place.checkpointer,
    )
    start = ForkStart(run.tasks, stored, fork, inputs)
    run.check_inputs(inputs, len(start.outputs))
    if not start.outputs:
        return (yield from run.execute({INPUTS: inputs}, inputs))
    config = {**run.config, "metadata": {**run.config.get("metadata", {}), FORKED_FROM: stored.thread_id}}
    yield Saving(run.graph, "bulk_update_state", config, [start.updates()])
    for binding, output in zip(run.tasks, start.outputs, strict=False):
        binding.task.output = output
    return (yield from run.execute(None, inputs))


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
    if point.reached is None:
        return steps
    executions, most = 0, int(point.reached)
    for count, step in enumerate(steps):
        executions += len(step.methods)
        if executions > most:
            return steps[:count]
    return steps


def _show_progress(flow: "Flow[Any]", point: _Point) -> None:
    try:
        done = _steps_up_to(drive(flow_steps(flow, point.thread)), point)
    except UnknownRun:
        return
    counts = Counter(method for step in done for method in step.methods)
    flow.checkpoint_completed_methods, flow.checkpoint_method_counts = {*counts}, dict(counts)
    if done:
        flow.take_state(flow.restored_state(done[-1].state))
