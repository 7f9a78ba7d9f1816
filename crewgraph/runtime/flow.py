"""Kickoff and resume of flows."""

import warnings
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig

from crewgraph.compiler.flow.graph import FlowGraph, flow_graph
from crewgraph.compiler.flow.plan import Plan
from crewgraph.compiler.flow.pump import RUN
from crewgraph.compiler.flow.run import RUNNING, FlowRun
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.definitions.definition import callers_level
from crewgraph.definitions.flow.definition import FlowDefinition
from crewgraph.definitions.flow.flow import Flow
from crewgraph.errors import DefinitionError, RunError
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.flow import FlowFinishedEvent, FlowStartedEvent
from crewgraph.runtime.operations import Heard, ReadState, Run
from crewgraph.runtime.storage import checkpointer_for

__all__ = ["akickoff", "aresume", "compiled", "kickoff", "resume", "state_around"]

_MOST_STEPS = 10**9

_plans: "WeakKeyDictionary[FlowDefinition, Plan]" = WeakKeyDictionary()


def kickoff(flow: "Flow[Any]", inputs: dict[str, Any]) -> Any:
    """Run a flow; see `Flow.kickoff`."""
    return drive(_kicked_off(flow, inputs))


async def akickoff(flow: "Flow[Any]", inputs: dict[str, Any]) -> Any:
    """Run a flow on this event loop; see `Flow.akickoff`."""
    return await adrive(_kicked_off(flow, inputs))


def resume(flow: "Flow[Any]", flow_id: str) -> Any:
    """Go on with a run; see `Flow.resume`."""
    return drive(_resumed(flow, flow_id))


async def aresume(flow: "Flow[Any]", flow_id: str) -> Any:
    """Go on with a run on this event loop."""
    return await adrive(_resumed(flow, flow_id))


def compiled(flow: "Flow[Any]", **wishes: Any) -> FlowGraph:
    """The flow as a graph; see `Flow.compile`."""
    return flow_graph(flow, _plan(flow), **wishes)


def state_around(flow: "Flow[Any]", otherwise: Any) -> Any:
    """The state of the run around the running code, if it is one of this flow."""
    running = RUNNING.get()
    return running.run.state if running is not None and running.run.flow is flow else otherwise


def _plan(flow: "Flow[Any]") -> Plan:
    definition = flow.definition()
    if definition.faults:
        raise DefinitionError("\n".join(definition.faults))
    for doubt in definition.doubts:
        warnings.warn(doubt, stacklevel=callers_level())
    return Plan(definition)


def _saver(flow: "Flow[Any]") -> Any:
    """Where a run of a flow is kept; None for nowhere."""
    if flow.checkpointer is None and not flow.definition().is_persisted and flow.persistence is None:
        return None
    return checkpointer_for(flow.checkpointer)


def _kicked_off(flow: "Flow[Any]", inputs: dict[str, Any]) -> Program[Any]:
    saver = _saver(flow)
    graph = compiled(flow, checkpointer=saver)
    run = FlowRun(flow, graph.plan, None, inputs, stored=saver is not None)
    given: Any = {"inputs": inputs}
    if saver is not None and "id" in inputs:
        found = yield ReadState(graph, _config(run, str(inputs["id"])))
        values: Mapping[str, Any] = found.values or {}
        if values.get("progress", {}).get("inflight"):
            return (yield from _played(graph, run, None, str(inputs["id"])))
        if values:
            run.read(values.get("state") or {}, {})
        else:
            warnings.warn(
                f"no run of flow `{flow.flow_name}` is kept under `{inputs['id']}`; a new one begins",
                stacklevel=callers_level(),
            )
    return (yield from _played(graph, run, given, None))


def _resumed(flow: "Flow[Any]", flow_id: str) -> Program[Any]:
    graph = compiled(flow, checkpointer=checkpointer_for(flow.checkpointer))
    run = FlowRun(flow, graph.plan, None, {}, stored=True)
    found = yield ReadState(graph, _config(run, flow_id))
    if not found.values:
        raise RunError(
            f"there is no run of flow `{flow.flow_name}` under `{flow_id}`. Look at its `flow_id`, and at where it was kept "
            "(`checkpointer=`, CREWGRAPH_STORAGE_DIR)."
        )
    if not found.values["progress"]["inflight"]:
        run.read(found.values.get("state") or {}, {})
        return found.values.get("output")
    return (yield from _played(graph, run, None, flow_id))


def _config(run: FlowRun, thread_id: str | None) -> RunnableConfig:
    return {
        "run_name": f"Flow: {run.name}",
        "recursion_limit": _MOST_STEPS,
        "configurable": {RUN: run, **({"thread_id": thread_id} if run.stored else {})},
    }


def _played(graph: FlowGraph, run: FlowRun, given: Any, thread_id: str | None) -> Program[Any]:
    flow = run.flow
    if given is not None:
        given = graph.begun(run, given["inputs"])
        thread_id = run.flow_id
    flow.take_run(run)
    run.thread_id, run.saver = thread_id, graph.checkpointer
    _tell(flow, FlowStartedEvent, inputs=run.inputs)
    ran = Run(
        graph,
        given,
        _config(run, thread_id),
        durability="sync" if run.stored else None,
        detached=True,
    )
    yield ran
    result = run.outputs[-1] if run.outputs else ran.written.get("output")
    _tell(flow, FlowFinishedEvent, result=result)
    yield Heard()
    return result


def _tell(flow: "Flow[Any]", event: type[Any], **fields: Any) -> None:
    if not flow.suppress_flow_events and crewai_event_bus.wants(event):
        crewai_event_bus.emit(flow, event(flow_name=flow.flow_name, **fields))
