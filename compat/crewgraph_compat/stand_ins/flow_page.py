"""The topology of a flow, as `build_flow_structure` gives it, as a page for browsers."""

import os
from collections.abc import Iterator

from crewgraph.plot.flow import drawn
from crewgraph.plot.picture import Method, Picture, Way
from crewgraph_compat.stand_ins.flow_structure import FlowStructure, NodeMetadata

__all__ = ["render_interactive"]

_KINDS = {"router": "router", "start": "start"}


def render_interactive(
    dag: FlowStructure, filename: str | os.PathLike[str] = "flow_dag.html", show: bool = True
) -> str:
    """Write a topology as a page, and open it; `Flow.plot` tells more, as it sees the methods themselves.

    Args:
        dag: the topology; programs may have changed it.
        filename: where it is written, with the ending .html.
        show: whether a browser is to open it.

    Returns:
        The path.
    """
    nodes = dag.get("nodes", {})
    name = next(filter(None, (one.get("class_name") for one in nodes.values())), "Flow")
    methods = tuple(_method(name, node, name in dag.get("start_methods", ())) for name, node in nodes.items())
    return drawn(Picture(name, "", methods, tuple(_ways(dag))), filename, show)


def _method(name: str, node: NodeMetadata, begins: bool) -> Method:
    kind = "router" if node.get("is_router") else _KINDS.get(node.get("type", ""), "listener")
    word = " and " if node.get("trigger_condition_type") == "AND" else " or "
    return Method(
        name=name,
        kind=kind,
        begins=begins,
        calls_crew=False,
        signature=name,
        text="",
        waits=word.join(node.get("trigger_methods", ())),
        labels=tuple(node.get("router_events", ())),
    )


def _ways(dag: FlowStructure) -> Iterator[Way]:
    """The edges between methods that there are; labels that lead from one to the other are one way."""
    nodes, labels = dag.get("nodes", {}), dict[tuple[str, str, bool, bool], list[str]]()
    for edge in dag.get("edges", ()):
        source, target = edge.get("source", ""), edge.get("target", "")
        if source in nodes and target in nodes:
            key = (source, target, edge["is_router_event"], edge.get("condition_type") == "AND")
            said = edge.get("router_event")
            labels.setdefault(key, []).extend([] if said is None else [said])
    for (source, target, routed, joined), found in labels.items():
        yield Way(source, target, tuple(found), routed, joined)
