"""Restores crews, flows and agents from snapshots."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint

from crewgraph.agent import BaseAgent
from crewgraph.compiler.crew.inputs import plain_inputs
from crewgraph.compiler.crew.state import INPUTS
from crewgraph.contrib.snapshots.config import CheckpointConfig, as_config
from crewgraph.contrib.snapshots.recording import KickoffPoint, saver_at
from crewgraph.contrib.snapshots.runtime_state import RuntimeState, read_snapshot, run_in
from crewgraph.core.operations import Program, Saving
from crewgraph.core.resources import RunResources
from crewgraph.crew import Crew
from crewgraph.definitions.checkpoints import CheckpointSettings
from crewgraph.definitions.run_options import RunOptions
from crewgraph.definitions.task.output import CrewOutput, TaskOutput
from crewgraph.errors import RunError
from crewgraph.flow.flow import Flow
from crewgraph.runtime.crew.kickoff import CrewRun, validate_inputs
from crewgraph.runtime.crew.results import check_stored
from crewgraph.runtime.flow.kickoff import resume_flow_program
from crewgraph.runtime.run_target import own_place, own_saver
from crewgraph.runtime.runs.crew_fork import ForkRequest, ForkStart
from crewgraph.runtime.runs.flow_history import flow_steps, fork_program
from crewgraph.runtime.runs.metadata import FORKED_FROM
from crewgraph.runtime.runs.storage import checkpointer_for
from crewgraph.runtime.runs.stored_run import StoredCrewRun
from crewgraph.runtime.streaming.crew_audience import CrewAudience
from crewgraph.schema import PlainDict, PlainMapping

__all__ = ["restore", "restore_into"]


def restore(kind: type[Any], config: CheckpointSettings, branch: str | None = None) -> Any:
    """Create a crew, flow or agent from a snapshot; see `Crew.from_checkpoint` and `Crew.fork`.

    Args:
        kind: The class.
        config: Selects the snapshot.
        branch: None to continue the run; else the branch of a new run, "" to generate its name.
    """
    settings = as_config(config)
    if issubclass(kind, Flow):
        return _restored_flow(cast("Any", kind), settings, branch)
    return _restored_crew(kind, settings, branch) if issubclass(kind, Crew) else _restored_agent(kind, settings, branch)


def restore_into(entity: Any, config: CheckpointSettings) -> None:
    """Make the next kickoff of a crew, flow or agent continue from a snapshot."""
    kind = "crew" if isinstance(entity, Crew) else "flow" if isinstance(entity, Flow) else "agent"
    run, branch, parent = _point_in(as_config(config), kind)
    if isinstance(entity, Crew):
        entity.start_next_with(_crew_start(run, branch, parent, forks=False))
    elif isinstance(entity, Flow):
        _continue_flow(cast("Flow", entity), run, (branch, parent), forks=False)
    else:
        entity.start_next_with(KickoffPoint(run["thread_id"], run["database"], branch, parent))


def _point_in(config: CheckpointConfig, kind: str) -> tuple[PlainDict, str, str | None]:
    """Return a snapshot's run, branch and id."""

    def point_of(document: PlainMapping) -> tuple[PlainDict, str, str | None]:
        return run_in(document, kind), document["branch"], document["checkpoint_id"]

    return cast("tuple[PlainDict, str, str | None]", read_snapshot(config, point_of))


def _restored_agent(kind: type[BaseAgent], config: CheckpointConfig, branch: str | None) -> BaseAgent:
    agent, state, run, parent = _restored(kind, config, branch, "agent")
    agent.start_next_with(
        KickoffPoint(None if branch is not None else run["thread_id"], run["database"], state.branch, parent)
    )
    return agent


def _restored_crew(kind: type[Crew], config: CheckpointConfig, branch: str | None) -> Crew:
    crew, state, run, parent = _restored(kind, config, branch, "crew")
    crew.checkpoint_inputs = run["inputs"]
    crew.start_next_with(_crew_start(run, state.branch, parent, forks=branch is not None))
    return crew


def _restored(
    kind: type[Any], config: CheckpointConfig, branch: str | None, entity: str
) -> tuple[Any, RuntimeState, PlainDict, str | None]:
    """Return the restored object with its state, its run, and the parent of the next snapshot."""

    def state_and_run(document: Mapping[str, object]) -> tuple[RuntimeState, PlainDict]:
        run = run_in(document, entity)
        return RuntimeState.from_document(document), run

    state, run = cast("tuple[RuntimeState, PlainDict]", read_snapshot(config, state_and_run))
    restored = next(entity for entity in state.root if isinstance(entity, kind))
    parent = state.parent_id
    if branch is not None:
        state.fork(branch or None)
    return restored, state, run, parent


def _crew_start(run: PlainMapping, branch: str, parent: str | None, *, forks: bool) -> Any:
    return partial(_continued_crew, _CrewPoint(run, branch, parent, forks=forks))


class _CrewPoint:
    """The point from which a crew continues."""

    def __init__(self, run: PlainMapping, branch: str, parent: str | None, *, forks: bool) -> None:
        self.thread_id: str | None = run["thread_id"]
        self.database: str | None = run["database"]
        self.inputs: PlainDict = run["inputs"]
        self.outputs: PlainDict = run["outputs"]
        self.branch, self.parent, self.forks = branch, parent, forks

    def saver(self, crew: Crew, checkpointer: Any) -> object:
        """Return the checkpointer of the run."""
        saver = checkpointer if checkpointer is not None else own_saver(crew)
        if saver is None and self.database is not None and Path(self.database).is_file():
            return saver_at(Path(self.database))
        return checkpointer_for(saver)

    def stored(self, thread_id: str) -> StoredCrewRun:
        """Return the run as of the snapshot; its database may be further along, or no longer have it."""
        values = {INPUTS: self.inputs, **self.outputs}
        versions: object = {name: 1 for name in values}
        checkpoint = {**empty_checkpoint(), "channel_values": values, "channel_versions": versions}
        config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
        return StoredCrewRun(CheckpointTuple(config, cast("Any", checkpoint), {}, None, []))


def _continued_crew(
    point: _CrewPoint,
    crew: Crew,
    inputs: PlainMapping | None,
    options: RunOptions,
    audience: CrewAudience | None,
) -> Program[CrewOutput]:
    thread_id, checkpointer = options.thread_id, options.checkpointer
    merged = {**point.inputs, **plain_inputs(validate_inputs(inputs or {}))}
    with closing(RunResources()) as opened:
        saver = point.saver(crew, checkpointer)
        if thread_id is None and not point.forks and merged == point.inputs and point.thread_id is not None and saver:
            run = CrewRun(crew, own_place(crew, point.thread_id, saver), "task", opened)
            yield from run.claim_thread()
            stored = yield Saving(run.graph, "get_state", run.config)
            if stored.created_at is not None and _is_at(point, stored):
                run = _begin(run.with_stored_granularity(stored.metadata), point, audience, merged)
                check_stored(run.steps, stored.values, point.thread_id)
                return (yield from run.execute(None, merged))
        run = CrewRun(crew, own_place(crew, thread_id, saver), "task", opened)
        return (yield from _branched(run, point, merged, audience))


def _is_at(point: _CrewPoint, stored: Any) -> bool:
    """Return whether no task has finished since the snapshot."""
    done = [name for name, value in stored.values.items() if isinstance(value, dict) and "raw" in value]
    return set(done) <= set(point.outputs)


def _begin(run: CrewRun, point: _CrewPoint, audience: CrewAudience | None, inputs: PlainMapping) -> CrewRun:
    run.origin = (point.branch, point.parent, point.outputs)
    if audience is not None:
        audience.start(run.crew.name, run.place.shown_thread, inputs, run.tasks, run.planning)
    return run


def _branched(run: CrewRun, point: _CrewPoint, inputs: PlainDict, audience: CrewAudience | None) -> Program[CrewOutput]:
    """Start a new run from the snapshot's outputs."""
    run = _begin(run, point, audience, inputs)
    last = run.tasks[-1]
    pending = [number for number, binding in enumerate(run.tasks) if binding.slug not in point.outputs]
    fork = ForkRequest(
        point=pending[0] if pending else len(run.tasks) - 1,
        of=point.thread_id,
        outputs=None
        if pending
        else {last.slug: TaskOutput.from_plain(point.outputs[last.slug], last.task.output_pydantic)},
        inputs=inputs,
        thread_id=run.place.thread_id,
        checkpointer=run.place.checkpointer,
    )
    fork_start = ForkStart(run.tasks, point.stored(point.thread_id or ""), fork, inputs)
    run.check_inputs(inputs, len(fork_start.outputs))
    if not fork_start.outputs:
        return (yield from run.execute({INPUTS: inputs}, inputs))
    config = {**run.config, "metadata": {**run.config.get("metadata", {}), FORKED_FROM: point.thread_id}}
    yield Saving(run.graph, "bulk_update_state", config, [fork_start.updates()])
    for binding, output in zip(run.tasks, fork_start.outputs, strict=False):
        binding.task.output = output
    return (yield from run.execute(None, inputs))


@dataclass(frozen=True)
class _FlowPoint:
    """The point from which a flow continues."""

    run: PlainMapping
    forks: bool


def _restored_flow(kind: "type[Flow]", config: CheckpointConfig, branch: str | None) -> "Flow":
    flow = kind()
    run, origin_branch, parent = _point_in(config, "flow")
    if branch is not None:
        state = RuntimeState([flow])
        state.continue_from(origin_branch, parent)
        state.fork(branch or None)
        origin_branch = state.branch
    _continue_flow(flow, run, (origin_branch, parent), forks=branch is not None)
    flow.checkpoint_completed_methods = set(run["completed"])
    flow.checkpoint_method_counts, flow.checkpoint_state = dict(run["completed"]), run["state"]
    flow.take_state(flow.restored_state(run["state"]))
    return flow


def _continue_flow(flow: "Flow", run: PlainMapping, origin: tuple[str, str | None], *, forks: bool) -> None:
    database = run["database"]
    if own_saver(flow) is None and database is not None and Path(database).is_file():
        flow.checkpointer = saver_at(Path(database))
    flow.checkpoint_origin = origin
    flow.start_next_with(partial(_continued_flow, _FlowPoint(run, forks)))


def _continued_flow(point: _FlowPoint, flow: "Flow", inputs: PlainMapping) -> Program[Any]:
    thread_id, done = str(point.run["thread_id"]), int(point.run["executions"])
    steps = yield from flow_steps(flow, thread_id)
    reached, last_step = 0, None
    for step in steps:
        reached += len(step.methods)
        if reached <= done:
            last_step = step
    if reached <= done and not point.forks and not inputs:
        return (yield from resume_flow_program(flow, thread_id, None))
    if last_step is None:
        raise RunError(
            f"run `{thread_id}` of flow `{flow.flow_name}` no longer contains the point of the checkpoint (`keep_history`); "
            "continue from a later one"
        )
    return (yield from fork_program(flow, last_step, dict(inputs) or None))
