"""Crews, flows and agents that continue from snapshots."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint

from crewgraph.compiler.crew.state import INPUTS
from crewgraph.contrib.snapshots.config import CheckpointConfig, as_config
from crewgraph.contrib.snapshots.recording import KickoffPoint, saver_at
from crewgraph.contrib.snapshots.runtime_state import RuntimeState, read_snapshot, run_in
from crewgraph.core.operations import Program, Saving
from crewgraph.core.resources import RunResources
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.checkpoints import CheckpointSettings
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.run_options import RunOptions
from crewgraph.definitions.task.output import CrewOutput, TaskOutput
from crewgraph.errors import RunError
from crewgraph.runtime.crew.kickoff import CrewRun, plain_inputs, validate_inputs
from crewgraph.runtime.crew.results import check_stored
from crewgraph.runtime.execution import ReadState
from crewgraph.runtime.flow.kickoff import resume_flow_program
from crewgraph.runtime.run_target import own_place, own_saver
from crewgraph.runtime.runs.crew_fork import Fork, ForkStart
from crewgraph.runtime.runs.flow_history import flow_steps, forked_at
from crewgraph.runtime.runs.metadata import FORKED_FROM
from crewgraph.runtime.runs.storage import checkpointer_for
from crewgraph.runtime.runs.stored_run import StoredCrewRun
from crewgraph.runtime.streaming.crew_audience import CrewAudience

__all__ = ["restore", "restore_into"]


def restore(kind: type[Any], config: CheckpointSettings, branch: str | None = None) -> Any:
    """A crew, flow or agent made of a snapshot; see `Crew.from_checkpoint` and `Crew.fork`.

    Args:
        kind: its class.
        config: which snapshot.
        branch: None to continue that run; else the branch of a run of its own, "" for one that is named here.
    """
    wanted = as_config(config)
    if issubclass(kind, Flow):
        return _restored_flow(cast("Any", kind), wanted, branch)
    return _restored_crew(kind, wanted, branch) if issubclass(kind, Crew) else _restored_agent(kind, wanted, branch)


def restore_into(entity: Any, config: CheckpointSettings) -> None:
    """Let the next kickoff of a crew, flow or agent continue from a snapshot."""
    kind = "crew" if isinstance(entity, Crew) else "flow" if isinstance(entity, Flow) else "agent"
    run, branch, parent = _point_in(as_config(config), kind)
    if isinstance(entity, Crew):
        entity.start_next_with(_crew_start(run, branch, parent, forks=False))
    elif isinstance(entity, Flow):
        _continue_flow(cast("Flow[Any]", entity), run, (branch, parent), forks=False)
    else:
        entity.start_next_with(KickoffPoint(run["thread_id"], run["database"], branch, parent))


def _point_in(config: CheckpointConfig, kind: str) -> tuple[dict[str, Any], str, str | None]:
    """The run that a snapshot is of, its branch, and its id."""

    def point_of(document: Mapping[str, Any]) -> tuple[dict[str, Any], str, str | None]:
        return run_in(document, kind), document["branch"], document["checkpoint_id"]

    return cast("tuple[dict[str, Any], str, str | None]", read_snapshot(config, point_of))


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
) -> tuple[Any, RuntimeState, dict[str, Any], str | None]:
    """The object that a snapshot describes, with its state, its run, and the snapshot before the next one."""

    def state_and_run(document: Mapping[str, Any]) -> tuple[RuntimeState, dict[str, Any]]:
        run = run_in(document, entity)
        return RuntimeState.of(document), run

    state, run = cast("tuple[RuntimeState, dict[str, Any]]", read_snapshot(config, state_and_run))
    restored = next(one for one in state.root if isinstance(one, kind))
    parent = state.parent_id
    if branch is not None:
        state.fork(branch or None)
    return restored, state, run, parent


def _crew_start(run: Mapping[str, Any], branch: str, parent: str | None, *, forks: bool) -> Any:
    return partial(_continued_crew, _CrewPoint(run, branch, parent, forks=forks))


class _CrewPoint:
    """What a crew continues from."""

    def __init__(self, run: Mapping[str, Any], branch: str, parent: str | None, *, forks: bool) -> None:
        self.thread_id: str | None = run["thread_id"]
        self.database: str | None = run["database"]
        self.inputs: dict[str, Any] = run["inputs"]
        self.outputs: dict[str, Any] = run["outputs"]
        self.branch, self.parent, self.forks = branch, parent, forks

    def saver(self, crew: Crew, checkpointer: Any) -> Any:
        """Where the run is stored."""
        wish = checkpointer if checkpointer is not None else own_saver(crew)
        if wish is None and self.database is not None and Path(self.database).is_file():
            return saver_at(Path(self.database))
        return checkpointer_for(wish)

    def stored(self, thread_id: str) -> StoredCrewRun:
        """The run as of the snapshot, which its database may be further than, or not hold any more."""
        held = {INPUTS: self.inputs, **self.outputs}
        versions: Any = {name: 1 for name in held}
        checkpoint = {**empty_checkpoint(), "channel_values": held, "channel_versions": versions}
        config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
        return StoredCrewRun(CheckpointTuple(config, cast("Any", checkpoint), {}, None, []))


def _continued_crew(
    point: _CrewPoint,
    crew: Crew,
    inputs: Mapping[str, Any] | None,
    options: RunOptions,
    audience: CrewAudience | None,
) -> Program[CrewOutput]:
    thread_id, checkpointer = options.thread_id, options.checkpointer
    given = {**point.inputs, **plain_inputs(validate_inputs(inputs or {}))}
    with closing(RunResources()) as opened:
        saver = point.saver(crew, checkpointer)
        if thread_id is None and not point.forks and given == point.inputs and point.thread_id is not None and saver:
            run = CrewRun(crew, own_place(crew, point.thread_id, saver), "task", opened)
            there = yield ReadState(run.graph, run.config)
            if there.created_at is not None and _is_at(point, there):
                run = _begin(run.as_kept(there.metadata), point, audience, given)
                check_stored(run.steps, there.values, point.thread_id)
                return (yield from run.execute(None, given))
        run = CrewRun(crew, own_place(crew, thread_id, saver), "task", opened)
        return (yield from _branched(run, point, given, audience))


def _is_at(point: _CrewPoint, there: Any) -> bool:
    """Whether nothing has been done since the snapshot."""
    done = [name for name, value in there.values.items() if isinstance(value, dict) and "raw" in value]
    return set(done) <= set(point.outputs)


def _begin(run: CrewRun, point: _CrewPoint, audience: CrewAudience | None, inputs: Mapping[str, Any]) -> CrewRun:
    run.origin = (point.branch, point.parent, point.outputs)
    if audience is not None:
        audience.begins(run.crew.name, run.place.shown_thread, inputs, run.tasks, run.planning)
    return run


def _branched(
    run: CrewRun, point: _CrewPoint, inputs: dict[str, Any], audience: CrewAudience | None
) -> Program[CrewOutput]:
    """A run of its own, which begins with what the snapshot holds."""
    run = _begin(run, point, audience, inputs)
    last = run.tasks[-1]
    undone = [number for number, one in enumerate(run.tasks) if one.slug not in point.outputs]
    fork = Fork(
        point=undone[0] if undone else len(run.tasks) - 1,
        of=point.thread_id,
        outputs=None
        if undone
        else {last.slug: TaskOutput.from_plain(point.outputs[last.slug], last.task.output_pydantic)},
        inputs=inputs,
        thread_id=run.place.thread_id,
        checkpointer=run.place.checkpointer,
    )
    begun = ForkStart(run.tasks, point.stored(point.thread_id or ""), fork, inputs)
    run.check_worded(inputs, len(begun.outputs))
    if not begun.outputs:
        return (yield from run.execute({INPUTS: inputs}, inputs))
    config = {**run.config, "metadata": {**run.config.get("metadata", {}), FORKED_FROM: point.thread_id}}
    yield Saving(run.graph, "bulk_update_state", config, [begun.updates()])
    for one, output in zip(run.tasks, begun.outputs, strict=False):
        one.task.output = output
    return (yield from run.execute(None, inputs))


@dataclass(frozen=True)
class _FlowPoint:
    """What a flow continues from."""

    run: Mapping[str, Any]
    forks: bool


def _restored_flow(kind: "type[Flow[Any]]", config: CheckpointConfig, branch: str | None) -> "Flow[Any]":
    flow = kind()
    run, at, parent = _point_in(config, "flow")
    if branch is not None:
        state = RuntimeState([flow])
        state.follow(at, parent)
        state.fork(branch or None)
        at = state.branch
    _continue_flow(flow, run, (at, parent), forks=branch is not None)
    flow.checkpoint_completed_methods = set(run["completed"])
    flow.checkpoint_method_counts, flow.checkpoint_state = dict(run["completed"]), run["state"]
    flow.take_state(flow.restored_state(run["state"]))
    return flow


def _continue_flow(flow: "Flow[Any]", run: Mapping[str, Any], origin: tuple[str, str | None], *, forks: bool) -> None:
    database = run["database"]
    if own_saver(flow) is None and database is not None and Path(database).is_file():
        flow.checkpointer = saver_at(Path(database))
    flow.checkpoint_origin = origin
    flow.start_next_with(partial(_continued_flow, _FlowPoint(run, forks)))


def _continued_flow(point: _FlowPoint, flow: "Flow[Any]", inputs: Mapping[str, Any]) -> Program[Any]:
    thread_id, done = str(point.run["thread_id"]), int(point.run["executions"])
    steps = yield from flow_steps(flow, thread_id)
    reached, at = 0, None
    for step in steps:
        reached += len(step.methods)
        if reached <= done:
            at = step
    if reached <= done and not point.forks and not inputs:
        return (yield from resume_flow_program(flow, thread_id, None))
    if at is None:
        raise RunError(
            f"run `{thread_id}` of flow `{flow.flow_name}` does not hold the point of the checkpoint any more (`keep_history`); "
            "take up a later one"
        )
    return (yield from forked_at(flow, at, dict(inputs) or None))
