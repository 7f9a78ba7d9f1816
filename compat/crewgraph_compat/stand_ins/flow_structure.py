"""The topology of a flow as plain data, in the form that CrewAI 1.15 gives it: nodes, edges, starts, routers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Required, TypedDict

from crewgraph.contrib.declared.flow import FlowDeclaration
from crewgraph.contrib.declared.flow_class import declared_topology
from crewgraph.definitions.flow.definition import FlowDefinition
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.flow.method import AndCondition, Condition, FlowCondition, FlowMethod, events_of

__all__ = [
    "FlowStructure",
    "NodeMetadata",
    "StructureEdge",
    "build_flow_structure",
    "calculate_execution_paths",
    "plot_flow",
]


class NodeMetadata(TypedDict, total=False):
    """A method of a flow."""

    type: str
    """"start", "listen" or "router"."""

    is_router: bool
    router_events: list[str]
    """The labels that it may return, as far as its annotation and its code tell."""

    condition_type: str | None
    trigger_condition_type: str | None
    """"OR" or "AND"."""

    trigger_methods: list[str]
    """The events that it waits for."""

    trigger_condition: dict[str, Any] | None
    """What it waits for, where that is more than one event."""

    class_name: str


class StructureEdge(TypedDict, total=False):
    """A method that another one waits for."""

    source: str
    target: str
    condition_type: str | None
    is_router_event: Required[bool]
    router_event: str | None
    """The label on the way."""


class FlowStructure(TypedDict, total=False):
    """A flow."""

    nodes: dict[str, NodeMetadata]
    edges: list[StructureEdge]
    start_methods: list[str]
    router_methods: list[str]


def build_flow_structure(flow_or_definition: Flow[Any] | type[Flow[Any]] | FlowDeclaration) -> FlowStructure:
    """The topology of a flow.

    Args:
        flow_or_definition: a flow, its class, or `Flow.flow_definition()`.
    """
    definition = _definition(flow_or_definition)
    methods = definition.methods.values()
    return FlowStructure(
        nodes={method.name: _node(method, definition.name) for method in methods},
        edges=[edge for method in methods for edge in _edges(method, definition)],
        start_methods=[method.name for method in methods if method.is_start],
        router_methods=[method.name for method in methods if method.is_router],
    )


def calculate_execution_paths(structure: FlowStructure) -> int:
    """How many ways lead through a flow, from its starts to where nothing follows; loops count once."""
    following: dict[str, list[str]] = {}
    for edge in structure.get("edges", ()):
        following.setdefault(edge.get("source", ""), []).append(edge.get("target", ""))

    def ways(node: str, seen: frozenset[str]) -> int:
        ahead = [one for one in following.get(node, ()) if one not in seen]
        return sum(ways(one, seen | {one}) for one in ahead) if ahead else 1

    return sum(ways(start, frozenset({start})) for start in structure.get("start_methods", ()))


def plot_flow(flow: Flow[Any] | type[Flow[Any]], filename: str = "flow_plot") -> None:
    """Write a flow as a page for browsers, `filename` with the ending .html."""
    flow.plot(str(Path(filename)))


def _definition(given: Flow[Any] | type[Flow[Any]] | FlowDeclaration) -> FlowDefinition:
    return declared_topology(given) if isinstance(given, FlowDeclaration) else given.topology()


def _node(method: FlowMethod, flow: str) -> NodeMetadata:
    waits = method.trigger or method.condition
    kind = "router" if method.is_router else "start" if method.is_start else "listen"
    node = NodeMetadata(type=kind, class_name=flow)
    if method.is_router:
        node["is_router"] = True
        if method.labels:
            node["router_events"] = list(method.labels)
        if waits is None:
            node["condition_type"] = "IF"
    if waits is not None:
        node["trigger_condition_type"] = node["condition_type"] = _kind(waits)
        node["trigger_methods"] = list(events_of(waits))
        if isinstance(waits, FlowCondition):
            node["trigger_condition"] = _plain(waits)
    return node


def _edges(method: FlowMethod, definition: FlowDefinition) -> Iterator[StructureEdge]:
    for condition in filter(None, (method.trigger, method.condition)):
        for event, kind in _events(condition, _kind(condition)):
            if event in definition.methods:
                yield StructureEdge(source=event, target=method.name, condition_type=kind, is_router_event=False)
                continue
            for router in definition.methods.values():
                if router.is_router and event in router.labels:
                    yield StructureEdge(
                        source=router.name,
                        target=method.name,
                        condition_type=None,
                        is_router_event=True,
                        router_event=event,
                    )


def _events(condition: Condition, kind: str) -> Iterator[tuple[str, str]]:
    if isinstance(condition, str):
        yield condition, kind
        return
    for one in condition.conditions:
        yield from _events(one, _kind(condition))


def _kind(condition: Condition) -> str:
    return "AND" if isinstance(condition, AndCondition) else "OR"


def _plain(condition: FlowCondition) -> dict[str, Any]:
    parts = [one if isinstance(one, str) else _plain(one) for one in condition.conditions]
    return {"type": _kind(condition), "conditions": parts}
