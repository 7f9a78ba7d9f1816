"""Histories of flow runs: the steps of a run, and forks that start at one of them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from crewgraph.compiler.flow.algebra import Execution, GraphState, GraphUpdate
from crewgraph.compiler.flow.continuing import check_flow_continues
from crewgraph.compiler.flow.graph import FlowGraph
from crewgraph.compiler.flow.record import method_of
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.core.operations import Program, Saving, collected
from crewgraph.core.past import checkpoint_id_of, lineage
from crewgraph.core.pregel import CLAIM
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.flow.state import with_inputs
from crewgraph.definitions.flow.step import FlowStep, FlowSteps
from crewgraph.errors import RunError
from crewgraph.runtime.flow.kickoff import claimed_run, compile_flow, execute_flow, metadata_of, unknown_run
from crewgraph.runtime.runs.storage import checkpointer_for, own_saver
from crewgraph.text import storable_id


def _graph(flow: "FlowDefinition") -> FlowGraph:
    return compile_flow(flow, checkpointer=checkpointer_for(own_saver(flow)))


def flow_steps(flow: "FlowDefinition[Any]", flow_id: str | None) -> Program[FlowSteps]:
    """Return the steps of a run; see `Flow.history`."""
    graph, thread_id = _graph(flow), flow_id or flow.flow_id
    states = yield collected(
        graph, "get_state_history", {"configurable": {"thread_id": storable_id(thread_id, "flow")}}
    )
    if not states:
        raise unknown_run(flow, thread_id)
    run = FlowRun(flow, flow.state, {}, stored=True)
    return FlowSteps(_flow_steps(run, thread_id, lineage(states)))


def _flow_steps(run: FlowRun, thread_id: str, states: Sequence[Any]) -> Iterator[FlowStep]:
    number, last, previous = 0, (), dict[str, Execution]()
    for state in states:
        values: GraphState = state.values
        progress = values.get("progress")
        if progress is None or (progress["last"],) == last:
            continue  # a step in which an execution began and none completed
        done, inflight = progress["last"], progress["inflight"]
        last = (done,)
        ended = [entry for name, entry in previous.items() if name not in inflight and name != done]
        previous = inflight
        methods = [entry["method"] for entry in ended] + ([] if done is None else [method_of(done)])
        yield FlowStep(
            number=number,
            flow_id=thread_id,
            checkpoint_id=checkpoint_id_of(state.config),
            completed=None if done is None else method_of(done),
            output=None if done is None else run.revived(progress["results"].get(done)),
            methods=tuple(methods),
            state=run.revived(values.get("state") or {}),
            next=tuple(dict.fromkeys(entry["method"] for entry in inflight.values())),
            created_at=datetime.fromisoformat(state.created_at),
        )
        number += 1


def fork_program(flow: "FlowDefinition[Any]", step: FlowStep, state: Mapping[str, object] | None) -> Program[Any]:
    """Run a flow from a step of an earlier run; see `Flow.fork`.

    Raises:
        RunError: the step's checkpoint is no longer stored.
    """
    graph = _graph(flow)
    run = FlowRun(flow, None, {}, stored=True)
    return (yield from claimed_run(graph, run, step.flow_id, lambda: _forked_run(graph, run, step, state)))


def _forked_run(graph: FlowGraph, run: FlowRun, step: FlowStep, state: Mapping[str, object] | None) -> Program[Any]:
    flow = run.flow
    place = {"thread_id": step.flow_id, "checkpoint_id": step.checkpoint_id, "checkpoint_ns": "", CLAIM: run.claim}
    config: Any = {"configurable": place}
    checkpoint = yield Saving(graph.checkpointer, "get_tuple", config)
    if checkpoint is None:
        raise RunError(f"step {step.number} of run `{step.flow_id}` of flow `{flow.flow_name}` is no longer stored")
    values: GraphUpdate = {}
    place_of_step = {"thread_id": step.flow_id, "checkpoint_ns": "", "checkpoint_id": step.checkpoint_id}
    progress = checkpoint.checkpoint["channel_values"]["progress"]
    yield from check_flow_continues(run, graph.checkpointer, place_of_step, progress, forks=True)
    if state:
        with_inputs(flow.restored_state(step.state), state, flow.flow_name)  # raises if they do not fit
        values["state"] = run.recorded(state)
    config["metadata"] = metadata_of(graph)
    edited = yield Saving(graph, "update_state", config, values)
    return (yield from execute_flow(graph, run, None, step.flow_id, edited["configurable"]))
