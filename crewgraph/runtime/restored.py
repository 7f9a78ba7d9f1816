"""Runs that are taken up from checkpoints, by crews, flows and agents."""

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, cast

from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint

from crewgraph.compiler.state import INPUTS
from crewgraph.core.operations import Program, Saving
from crewgraph.core.resources import RunResources
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.checkpoint_config import CheckpointConfig
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.output import CrewOutput, TaskOutput
from crewgraph.definitions.runtime_state import RuntimeState, read, run_in
from crewgraph.runtime import restored_flow
from crewgraph.runtime.checkpointed_agent import KickoffPoint
from crewgraph.runtime.crew_audience import CrewAudience
from crewgraph.runtime.crew_fork import Fork, ForkStart
from crewgraph.runtime.kept_run import KeptRun
from crewgraph.runtime.kickoff import StartedRun, checked_inputs, plain_inputs
from crewgraph.runtime.labels import FORKED_FROM
from crewgraph.runtime.operations import ReadState
from crewgraph.runtime.place import own_place, own_saver
from crewgraph.runtime.results import check_stored
from crewgraph.runtime.snapshots_taken import saver_at
from crewgraph.runtime.storage import checkpointer_for

__all__ = ["agent", "begin_agent", "begin_crew", "begin_flow", "crew", "flow", "forked"]


def crew(kind: type[Crew], config: CheckpointConfig) -> Crew:
    """A crew made of a checkpoint; see `Crew.from_checkpoint`."""
    return _made(kind, config, None)


def forked(kind: type[Any], config: CheckpointConfig, branch: str | None) -> Any:
    """A crew or a flow made of a checkpoint that goes a way of its own; see `Crew.fork`."""
    if issubclass(kind, Flow):
        return restored_flow.made(cast("Any", kind), config, branch or "")
    return _made(kind, config, branch or "")


def flow(kind: "type[Flow[Any]]", config: CheckpointConfig) -> "Flow[Any]":
    """A flow that goes on from a checkpoint; see `Flow.from_checkpoint`."""
    return restored_flow.made(kind, config, None)


def begin_flow(flow: "Flow[Any]", config: CheckpointConfig) -> None:
    """Let the next kickoff of a flow go on from a checkpoint."""
    restored_flow.begin(flow, config)


def agent(kind: type[BaseAgent], config: CheckpointConfig, branch: str | None = None) -> BaseAgent:
    """An agent made of a checkpoint; see `Agent.from_checkpoint`."""

    def taken(document: Mapping[str, Any]) -> tuple[RuntimeState, dict[str, Any]]:
        return RuntimeState.of(document), run_in(document, "agent")

    state, run = cast("tuple[RuntimeState, dict[str, Any]]", read(config, taken))
    made = next(one for one in state.root if isinstance(one, kind))
    parent = state.parent_id
    if branch is not None:
        state.fork(branch or None)
    made.begin_with(
        KickoffPoint(None if branch is not None else run["thread_id"], run["database"], state.branch, parent)
    )
    return made


def _whole(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return document


def begin_crew(crew: Crew, config: CheckpointConfig) -> None:
    """Let the next kickoff of a crew go on from a checkpoint."""
    document = read(config, _whole)
    crew.begin_with(_beginning(run_in(document, "crew"), document["branch"], document["checkpoint_id"], forks=False))


def begin_agent(agent: BaseAgent, config: CheckpointConfig) -> None:
    """Let the next kickoff of an agent go on from a checkpoint."""
    document = read(config, _whole)
    run = run_in(document, "agent")
    agent.begin_with(KickoffPoint(run["thread_id"], run["database"], document["branch"], document["checkpoint_id"]))


def _made(kind: type[Crew], config: CheckpointConfig, branch: str | None) -> Crew:
    def taken(document: Mapping[str, Any]) -> tuple[RuntimeState, dict[str, Any]]:
        run = run_in(document, "crew")
        return RuntimeState.of(document), run

    state, run = cast("tuple[RuntimeState, dict[str, Any]]", read(config, taken))
    made = next(one for one in state.root if isinstance(one, kind))
    parent = state.parent_id
    if branch is not None:
        state.fork(branch or None)
    made.checkpoint_inputs = run["inputs"]
    made.begin_with(_beginning(run, state.branch, parent, forks=branch is not None))
    return made


def _beginning(run: Mapping[str, Any], branch: str, parent: str | None, *, forks: bool) -> Any:
    return partial(_gone_on, _Taken(run, branch, parent, forks=forks))


class _Taken:
    """What a crew goes on with."""

    def __init__(self, run: Mapping[str, Any], branch: str, parent: str | None, *, forks: bool) -> None:
        self.thread_id: str | None = run["thread_id"]
        self.database: str | None = run["database"]
        self.inputs: dict[str, Any] = run["inputs"]
        self.outputs: dict[str, Any] = run["outputs"]
        self.branch, self.parent, self.forks = branch, parent, forks

    def saver(self, crew: Crew, checkpointer: Any) -> Any:
        """Where the run is kept."""
        wish = checkpointer if checkpointer is not None else own_saver(crew)
        if wish is None and self.database is not None and Path(self.database).is_file():
            return saver_at(Path(self.database))
        return checkpointer_for(wish)

    def kept(self, thread_id: str) -> KeptRun:
        """The run as of the checkpoint, which its database may have gone on from, or not hold any more."""
        held = {INPUTS: self.inputs, **self.outputs}
        versions: Any = {name: 1 for name in held}
        checkpoint = {**empty_checkpoint(), "channel_values": held, "channel_versions": versions}
        config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
        return KeptRun(CheckpointTuple(config, cast("Any", checkpoint), {}, None, []))


def _gone_on(
    taken: _Taken,
    crew: Crew,
    inputs: Mapping[str, Any] | None,
    thread_id: str | None,
    checkpointer: Any,
    audience: CrewAudience | None,
) -> Program[CrewOutput]:
    given = {**taken.inputs, **plain_inputs(checked_inputs(inputs or {}))}
    with closing(RunResources()) as opened:
        saver = taken.saver(crew, checkpointer)
        if thread_id is None and not taken.forks and given == taken.inputs and taken.thread_id is not None and saver:
            run = StartedRun(crew, own_place(crew, taken.thread_id, saver), "task", opened)
            there = yield ReadState(run.graph, run.config)
            if there.created_at is not None and _reaches(taken, there):
                run = _following(run.as_kept(there.metadata), taken, audience, given)
                check_stored(run.steps, there.values, taken.thread_id)
                return (yield from run.told(None, given))
        run = StartedRun(crew, own_place(crew, thread_id, saver), "task", opened)
        return (yield from _branched(run, taken, given, audience))


def _reaches(taken: _Taken, there: Any) -> bool:
    """Whether nothing has been done since the checkpoint."""
    done = [name for name, value in there.values.items() if isinstance(value, dict) and "raw" in value]
    return set(done) <= set(taken.outputs)


def _following(run: StartedRun, taken: _Taken, audience: CrewAudience | None, inputs: Mapping[str, Any]) -> StartedRun:
    run.followed = (taken.branch, taken.parent, taken.outputs)
    if audience is not None:
        audience.begins(run.crew.name, run.place.shown_thread, inputs, run.tasks, run.planning)
    return run


def _branched(
    run: StartedRun, taken: _Taken, inputs: dict[str, Any], audience: CrewAudience | None
) -> Program[CrewOutput]:
    """A run of its own, which begins with what the checkpoint says."""
    run = _following(run, taken, audience, inputs)
    last = run.tasks[-1]
    undone = [number for number, one in enumerate(run.tasks) if one.slug not in taken.outputs]
    asked = Fork(
        point=undone[0] if undone else len(run.tasks) - 1,
        of=taken.thread_id,
        outputs=None
        if undone
        else {last.slug: TaskOutput.from_plain(taken.outputs[last.slug], last.task.output_pydantic)},
        inputs=inputs,
        thread_id=run.place.thread_id,
        checkpointer=run.place.checkpointer,
    )
    begun = ForkStart(run.tasks, taken.kept(taken.thread_id or ""), asked, inputs)
    run.check_worded(inputs, len(begun.outputs))
    if not begun.outputs:
        return (yield from run.told({INPUTS: inputs}, inputs))
    config = {**run.config, "metadata": {**run.config.get("metadata", {}), FORKED_FROM: taken.thread_id}}
    yield Saving(run.graph, "bulk_update_state", config, [begun.updates()])
    for one, output in zip(run.tasks, begun.outputs, strict=False):
        one.task.output = output
    return (yield from run.told(None, inputs))
