"""The past of flows: what their runs did, and other ways from a step on."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any, NamedTuple

from crewgraph.compiler.flow.graph import FlowGraph
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.single_node import caught_up
from crewgraph.core.journal import Record, appended_in
from crewgraph.core.operations import Operation, Program, Saving, adrive, drive
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.flow.state import with_inputs
from crewgraph.definitions.flow.step import FlowStep
from crewgraph.errors import RunError
from crewgraph.runtime.flow.kickoff import compile_flow, metadata_of, no_run, played
from crewgraph.runtime.run_target import own_saver
from crewgraph.runtime.runs.metadata import branch, id_of, is_whole
from crewgraph.runtime.runs.storage import checkpointer_for

__all__ = ["afork_flow", "aread_flow_history", "flow_steps", "fork_flow", "forked_at", "read_flow_history"]


class _ReadHistory(Operation):
    """The checkpoints of a thread, the latest first."""

    def __init__(self, graph: FlowGraph, thread_id: str) -> None:
        self.graph, self.config = graph, {"configurable": {"thread_id": thread_id}}

    def run(self) -> list[object]:
        return list(self.graph.get_state_history(self.config))  # pyright: ignore[reportArgumentType]

    async def arun(self) -> list[object]:
        return [one async for one in self.graph.aget_state_history(self.config)]  # pyright: ignore[reportArgumentType]


def read_flow_history(flow: "Flow", flow_id: str | None) -> list[FlowStep]:
    """What a run did; see `Flow.history`."""
    return drive(flow_steps(flow, flow_id))


async def aread_flow_history(flow: "Flow", flow_id: str | None) -> list[FlowStep]:
    """What a run did; see `Flow.history`."""
    return await adrive(flow_steps(flow, flow_id))


def fork_flow(flow: "Flow", step: FlowStep, state: Mapping[str, object] | None) -> object:
    """Run on from a step; see `Flow.fork`."""
    return drive(forked_at(flow, step, state))


async def afork_flow(flow: "Flow", step: FlowStep, state: Mapping[str, object] | None) -> object:
    """Run on from a step; see `Flow.fork`."""
    return await adrive(forked_at(flow, step, state))


def _graph(flow: "Flow") -> FlowGraph:
    return compile_flow(flow, checkpointer=checkpointer_for(own_saver(flow)))


def flow_steps(flow: "Flow", flow_id: str | None) -> Program[list[FlowStep]]:
    """The steps of a run, as a program."""
    graph, thread_id = _graph(flow), flow_id or flow.flow_id
    states = yield _ReadHistory(graph, thread_id)
    if not states:
        raise no_run(flow, thread_id)
    run = FlowRun(flow, graph.plan, flow.state, {}, stored=True)
    moments: list[_Moment] = []
    past = branch(states)
    for state, following in zip_longest(past, past[1:]):
        moments.append(_Moment(state, 0, state.values))
        if is_whole(state.metadata):
            kept = yield Saving(graph.checkpointer, "get_tuple", state.config)
            until = _point(following.values) if following else None
            moments += _after(graph, moments[-1], appended_in(kept.pending_writes or ()), until)
    return list(_told(run, thread_id, moments))


class _Moment(NamedTuple):
    """A checkpoint, and the state of the graph some completions later."""

    kept: Any
    journaled: int
    values: Mapping[str, Any]


def _method(execution: str) -> str:
    return execution.rpartition("#")[0]


def _point(values: Mapping[str, Any]) -> tuple[str | None] | None:
    """What tells how far a run is: the execution that completed last."""
    progress = values.get("progress")
    return None if progress is None else (progress["last"],)


def _after(graph: FlowGraph, moment: _Moment, records: Sequence[Record], until: object) -> Iterator[_Moment]:
    """What was journaled after a checkpoint, as far as the next one, which may be a fork's, goes on from it."""
    for number, record in enumerate(records, 1):
        if _point(moment.values) == until:
            return
        moment = _Moment(moment.kept, number, caught_up(graph.plan, moment.values, [record]))
        yield moment


def _told(run: FlowRun, thread_id: str, moments: Sequence[_Moment]) -> Iterator[FlowStep]:
    number, last, before = 0, None, dict[str, Any]()
    for state, journaled, values in moments:
        point, progress = _point(values), values.get("progress")
        if progress is None or point == last:
            continue  # the step of a node that began something, and completed nothing
        last = point
        done, inflight = progress["last"], progress["inflight"]
        ended = [one for name, one in before.items() if name not in inflight and name != done]
        before = inflight
        methods = [one["method"] for one in ended] + ([] if done is None else [_method(done)])
        yield FlowStep(
            number=number,
            flow_id=thread_id,
            checkpoint_id=id_of(state.config),
            journaled=journaled,
            completed=None if done is None else _method(done),
            output=None if done is None else run.revived(progress["results"].get(done)),
            methods=tuple(methods),
            state=run.revived(values.get("state") or {}),
            next=tuple(dict.fromkeys(one["method"] for one in inflight.values())),
            created_at=datetime.fromisoformat(state.created_at),
        )
        number += 1


def forked_at(flow: "Flow", step: FlowStep, state: Mapping[str, object] | None) -> Program[Any]:
    """A run from a step on, as a program."""
    graph = _graph(flow)
    config: object = {
        "configurable": {"thread_id": step.flow_id, "checkpoint_id": step.checkpoint_id, "checkpoint_ns": ""}
    }
    kept = yield Saving(graph.checkpointer, "get_tuple", config)
    if kept is None:
        raise RunError(f"step {step.number} of run `{step.flow_id}` of flow `{flow.flow_name}` is not kept any more")
    run = FlowRun(flow, graph.plan, None, {}, stored=True)
    values: dict[str, Any] = {}
    if is_whole(kept.metadata):
        graph = compile_flow(flow, "flow", checkpointer=graph.checkpointer)
        records = appended_in(kept.pending_writes or ())
        values = caught_up(graph.plan, kept.checkpoint["channel_values"], records[: step.journaled])
    if state:
        with_inputs(flow.restored_state(step.state), state, flow.flow_name)  # whether they fit
        values["state"] = {**values.get("state", {}), **run.recorded(state)}
    config["metadata"] = metadata_of(graph)
    edited = yield Saving(graph, "update_state", config, values)
    return (yield from played(graph, run, None, step.flow_id, edited["configurable"]))
