"""Runs of flows that wait for somebody's answer, found by their ids."""

from typing import Any

from crewgraph.compiler.flow.run import FlowRun
from crewgraph.core.operations import drive
from crewgraph.definitions.flow.feedback import PendingFlow
from crewgraph.definitions.flow.flow import Flow
from crewgraph.errors import DefinitionError
from crewgraph.runtime.flow import compiled, found, pending
from crewgraph.runtime.storage import checkpointer_for

__all__ = ["waiting"]


def waiting(flow: "Flow[Any]", flow_id: str) -> PendingFlow:
    """What a run waits for; the flow shows its state. See `Flow.from_pending`.

    Raises:
        DefinitionError: it waits for nothing.
    """
    saver = checkpointer_for(flow.checkpointer)
    if saver is not None:
        graph = compiled(flow, checkpointer=saver)
        run = FlowRun(flow, graph.plan, None, {}, stored=True)
        _, values = drive(found(graph, run, flow_id))
        if values.get("parked"):
            run.read(values)
            return pending(run, values["parked"])
    raise DefinitionError(
        f"no run `{flow_id}` of flow `{flow.flow_name}` waits for an answer; `pending()` lists those that do"
    )
