"""Runs of flows of which only some methods are persisted: gone on with from the last of these."""

from collections.abc import Mapping
from typing import Any

from crewgraph.compiler.flow.graph import FlowGraph
from crewgraph.compiler.flow.state_changes import ANEW
from crewgraph.core.operations import Program, Saving

__all__ = ["is_behind", "rewound"]


def is_behind(values: Mapping[str, Any]) -> bool:
    """Whether methods have completed since the last one that is persisted."""
    saved: Mapping[str, Any] | None = values.get("saved")
    if saved is None or values.get("parked"):  # what is asked is not taken back
        return False
    before, now = saved["progress"], values["progress"]
    return bool(before["run"] == now["run"] and before["last"] != now["last"])


def rewound(graph: FlowGraph, config: Any, values: Mapping[str, Any]) -> Program[Mapping[str, Any]]:
    """Set a run back to where the last method that is persisted had completed; the address of the new checkpoint.

    Args:
        graph: the flow's graph.
        config: the run's.
        values: the state of the graph.
    """
    saved: Mapping[str, Any] = values["saved"]
    update = {"state": {ANEW: True, **saved["state"]}, "progress": saved["progress"], "answers": {}}
    edited = yield Saving(graph, "update_state", config, update)
    address: Mapping[str, Any] = edited["configurable"]
    return address
