"""The past of flows: what their runs did, which of them wait, and other ways from a step on."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from crewgraph.compiler.flow.graph import FlowGraph
from crewgraph.compiler.flow.pump import WAIT
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.core.operations import Operation, Program, adrive, drive
from crewgraph.definitions.flow.feedback import PendingFlow
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.flow.state import with_inputs
from crewgraph.definitions.flow.step import FlowStep
from crewgraph.errors import RunError
from crewgraph.runtime.flow import FLOW_NAME, compiled, pending, played
from crewgraph.runtime.storage import checkpointer_for

__all__ = ["afork", "ahistory", "fork", "history", "pending_runs"]


class _ReadHistory(Operation):
    """The checkpoints of a thread, the latest first."""

    def __init__(self, graph: FlowGraph, thread_id: str) -> None:
        self.graph, self.config = graph, {"configurable": {"thread_id": thread_id}}

    def run(self) -> list[Any]:
        return list(self.graph.get_state_history(self.config))  # pyright: ignore[reportArgumentType]

    async def arun(self) -> list[Any]:
        return [one async for one in self.graph.aget_state_history(self.config)]  # pyright: ignore[reportArgumentType]


class _Edit(Operation):
    """An edit of a checkpoint; the address of the edited one."""

    def __init__(self, graph: FlowGraph, config: Any, values: dict[str, Any]) -> None:
        self.graph, self.config, self.values = graph, config, values

    def run(self) -> Any:
        return self.graph.update_state(self.config, self.values, as_node=WAIT)

    async def arun(self) -> Any:
        return await self.graph.aupdate_state(self.config, self.values, as_node=WAIT)


def history(flow: "Flow[Any]", flow_id: str | None) -> list[FlowStep]:
    """What a run did; see `Flow.history`."""
    return drive(_steps(flow, flow_id))


async def ahistory(flow: "Flow[Any]", flow_id: str | None) -> list[FlowStep]:
    """What a run did; see `Flow.history`."""
    return await adrive(_steps(flow, flow_id))


def fork(flow: "Flow[Any]", step: FlowStep, state: Mapping[str, Any] | None) -> Any:
    """Run on from a step; see `Flow.fork`."""
    return drive(_forked(flow, step, state))


async def afork(flow: "Flow[Any]", step: FlowStep, state: Mapping[str, Any] | None) -> Any:
    """Run on from a step; see `Flow.fork`."""
    return await adrive(_forked(flow, step, state))


def pending_runs(flow: "Flow[Any]") -> list[PendingFlow]:
    """The runs that wait; see `Flow.pending`."""
    saver = checkpointer_for(flow.checkpointer)
    if saver is None:
        return []
    plan = compiled(flow).plan
    seen: set[str] = set()
    found: list[PendingFlow] = []
    for kept in saver.list(None, filter={FLOW_NAME: flow.flow_name}):
        address: Mapping[str, Any] = kept.config.get("configurable") or {}
        thread_id = str(address["thread_id"])
        if thread_id in seen or address.get("checkpoint_ns"):
            continue
        seen.add(thread_id)
        questions: Mapping[str, Any] = kept.checkpoint["channel_values"].get("parked") or {}
        if questions:
            run = FlowRun(flow, plan, None, {}, stored=True)
            run.thread_id = thread_id
            found.append(pending(run, questions))
    return found


def _graph(flow: "Flow[Any]") -> FlowGraph:
    return compiled(flow, checkpointer=checkpointer_for(flow.checkpointer))


def _steps(flow: "Flow[Any]", flow_id: str | None) -> Program[list[FlowStep]]:
    graph, thread_id = _graph(flow), flow_id or flow.flow_id
    states = yield _ReadHistory(graph, thread_id)
    if not states:
        raise RunError(f"there is no run of flow `{flow.flow_name}` under `{thread_id}`")
    run = FlowRun(flow, graph.plan, flow.state, {}, stored=True)
    return list(_told(run, thread_id, _branch(states)))


def _branch(states: Sequence[Any]) -> list[Any]:
    """The states that led to the first of them, in their order; forks leave others."""
    by_id = {_id_of(state.config): state for state in states}
    found: list[Any] = []
    state: Any = states[0]
    while state is not None:
        found.append(state)
        state = by_id.get(_id_of(state.parent_config)) if state.parent_config else None
    return found[::-1]


def _id_of(config: Any) -> str:
    return str(config["configurable"]["checkpoint_id"])


def _told(run: FlowRun, thread_id: str, states: Sequence[Any]) -> Iterator[FlowStep]:
    number, last = 0, object()
    for state in states:
        progress = state.values.get("progress")
        if progress is None or (progress["last"], progress["run"]) == last:
            continue  # the step of a node that began something, and completed nothing
        last = (progress["last"], progress["run"])
        done = progress["last"]
        yield FlowStep(
            number=number,
            flow_id=thread_id,
            checkpoint_id=_id_of(state.config),
            completed=None if done is None else done.rpartition("#")[0],
            output=None if done is None else run.revived(progress["results"].get(done)),
            state=run.revived(state.values.get("state") or {}),
            next=tuple(dict.fromkeys(one["method"] for one in progress["inflight"].values())),
            created_at=datetime.fromisoformat(state.created_at),
        )
        number += 1


def _forked(flow: "Flow[Any]", step: FlowStep, state: Mapping[str, Any] | None) -> Program[Any]:
    graph = _graph(flow)
    run = FlowRun(flow, graph.plan, None, {}, stored=True)
    address = {"thread_id": step.flow_id, "checkpoint_id": step.checkpoint_id}
    values: dict[str, Any] = {}
    if state:
        with_inputs(flow.restored_state(step.state), state, flow.flow_name)  # whether they fit
        values = {"state": run.recorded(state)}
    edited = yield _Edit(graph, {"configurable": {**address, "checkpoint_ns": ""}}, values)
    return (yield from played(graph, run, None, step.flow_id, edited["configurable"]))
