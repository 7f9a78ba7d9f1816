"""The topology of a flow as plain data, and queries about its methods."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Required, TypedDict, cast

from crewgraph.contrib.declared.flow import FlowDeclaration
from crewgraph.contrib.declared.flow_class import declared_topology
from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.definitions.flow.method import (
    AndCondition,
    Condition,
    FlowCondition,
    FlowMethod,
    events_of,
    get_metadata,
    label_of,
    labels_in_code,
    returned_labels,
)
from crewgraph.flow.flow import Flow

__all__ = [
    "FlowStructure",
    "NodeMetadata",
    "StructureEdge",
    "build_ancestor_dict",
    "build_flow_structure",
    "build_parent_children_dict",
    "calculate_execution_paths",
    "calculate_node_levels",
    "count_outgoing_edges",
    "dfs_ancestors",
    "get_child_index",
    "get_possible_return_constants",
    "is_ancestor",
    "is_flow_condition_dict",
    "is_flow_condition_list",
    "is_flow_method",
    "is_flow_method_callable",
    "is_flow_method_name",
    "is_simple_flow_condition",
    "method_calls_crew",
    "plot_flow",
    "process_router_paths",
]


class NodeMetadata(TypedDict, total=False):
    """A method of a flow."""

    type: str
    """"start", "listen" or "router"."""

    is_router: bool
    router_events: list[str]
    """The labels it may return, as far as its annotation and code show."""

    condition_type: str | None
    trigger_condition_type: str | None
    """"OR" or "AND"."""

    trigger_methods: list[str]
    """The events it waits for."""

    trigger_condition: dict[str, Any] | None
    """The trigger condition if it waits for more than one event."""

    class_name: str


class StructureEdge(TypedDict, total=False):
    """An edge between two methods."""

    source: str
    target: str
    condition_type: str | None
    is_router_event: Required[bool]
    router_event: str | None
    """The label of the edge."""


class FlowStructure(TypedDict, total=False):
    """The topology of a flow."""

    nodes: dict[str, NodeMetadata]
    edges: list[StructureEdge]
    start_methods: list[str]
    router_methods: list[str]


def build_flow_structure(flow_or_definition: Flow[Any] | type[Flow[Any]] | FlowDeclaration) -> FlowStructure:
    """Return the topology of a flow.

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
    """Count the paths through a flow from its start methods to its ends; loops count once."""
    following: dict[str, list[str]] = {}
    for edge in structure.get("edges", ()):
        following.setdefault(edge.get("source", ""), []).append(edge.get("target", ""))

    def ways(node: str, seen: frozenset[str]) -> int:
        ahead = [item for item in following.get(node, ()) if item not in seen]
        return sum(ways(item, seen | {item}) for item in ahead) if ahead else 1

    return sum(ways(start, frozenset({start})) for start in structure.get("start_methods", ()))


def plot_flow(flow: Flow[Any] | type[Flow[Any]], filename: str = "flow_plot") -> None:
    """Write an HTML page of a flow to `filename` plus .html."""
    flow.plot(str(Path(filename)))


def _definition(flow: Flow[Any] | type[Flow[Any]] | FlowDeclaration) -> FlowTopology:
    return declared_topology(flow) if isinstance(flow, FlowDeclaration) else flow.topology()


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


def _edges(method: FlowMethod, definition: FlowTopology) -> Iterator[StructureEdge]:
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
    for item in condition.conditions:
        yield from _events(item, _kind(condition))


def _kind(condition: Condition) -> str:
    return "AND" if isinstance(condition, AndCondition) else "OR"


def _plain(condition: FlowCondition) -> dict[str, Any]:
    parts = [item if isinstance(item, str) else _plain(item) for item in condition.conditions]
    return {"type": _kind(condition), "conditions": parts}


def get_possible_return_constants(function: Callable[..., Any]) -> list[str] | None:
    """Return the constants that a function may return, or None if its code does not show them."""
    result = returned_labels(function) or labels_in_code(function)
    return sorted(label_of(label) for label in result) if result else None


def build_parent_children_dict(flow: Flow[Any]) -> dict[str, list[str]]:
    """Map each method to the sorted methods that wait for it or for one of its labels."""
    children: dict[str, set[str]] = {}
    definition = _definition_of(flow)
    for method in definition.methods.values():
        for event in (*events_of(method.trigger), *events_of(method.condition)):
            for parent in _who_fires(event, definition):
                children.setdefault(parent, set()).add(method.name)
    return {parent: sorted(names) for parent, names in children.items()}


def get_child_index(parent: str, child: str, parent_children: Mapping[str, list[str]]) -> int:
    """Return the index of a child among its parent's children.

    Raises:
        ValueError: it is none of them.
    """
    return sorted(parent_children.get(parent, [])).index(child)


def count_outgoing_edges(flow: Flow[Any]) -> dict[str, int]:
    """Count, for each method, the methods that wait for it."""
    children = build_parent_children_dict(flow)
    return {name: len(children.get(name, ())) for name in _definition_of(flow).methods}


def calculate_node_levels(flow: Flow[Any]) -> dict[str, int]:
    """Return the minimum distance of each method from a start method."""
    children = build_parent_children_dict(flow)
    methods = _definition_of(flow).methods.values()
    levels = {method.name: 0 for method in methods if method.is_start}
    waiting = deque(levels)
    while waiting:
        parent = waiting.popleft()
        for child in children.get(parent, ()):
            if child not in levels:
                levels[child] = levels[parent] + 1
                waiting.append(child)
    return levels


def process_router_paths(
    flow: Flow[Any], current: str, current_level: int, levels: dict[str, int], queue: deque[str]
) -> None:
    """Assign the next level to the listeners of a router's labels and add them to the queue."""
    for child in build_parent_children_dict(flow).get(current, ()):
        if child not in levels or levels[child] > current_level + 1:
            levels[child] = current_level + 1
            queue.append(child)


def build_ancestor_dict(flow: Flow[Any]) -> dict[str, set[str]]:
    """Map each method to all of its ancestors."""
    ancestors: dict[str, set[str]] = {name: set() for name in _definition_of(flow).methods}
    for name in ancestors:
        dfs_ancestors(name, ancestors, set(), flow)
    return ancestors


def dfs_ancestors(node: str, ancestors: dict[str, set[str]], visited: set[str], flow: Flow[Any]) -> None:
    """Record a method as an ancestor of all its successors."""
    if node in visited:
        return
    visited.add(node)
    for child in build_parent_children_dict(flow).get(node, ()):
        ancestors.setdefault(child, set()).update({node}, ancestors.get(node, ()))
        dfs_ancestors(child, ancestors, visited, flow)


def is_ancestor(node: str, ancestor_candidate: str, ancestors: Mapping[str, set[str]]) -> bool:
    """Return whether a method is an ancestor of another."""
    return ancestor_candidate in ancestors.get(node, ())


def method_calls_crew(method: Any) -> bool:
    """Return whether the code of a method runs a crew."""
    code = getattr(getattr(method, "__func__", method), "__code__", None)
    return code is not None and bool({"kickoff", "kickoff_async", "akickoff", "crew"} & set(code.co_names))


def is_flow_method_name(obj: Any) -> bool:
    """Return whether an object is a method name."""
    return isinstance(obj, str)


def is_flow_method(obj: Any) -> bool:
    """Return whether an object is a decorated flow method."""
    return get_metadata(getattr(obj, "__func__", obj)) is not None


def is_flow_method_callable(obj: Any) -> bool:
    """Return whether an object is a named function."""
    return callable(obj) and hasattr(obj, "__name__")


def is_flow_condition_dict(obj: Any) -> bool:
    """Return whether an object is a condition: the result of `and_` or `or_`, or a dict with a type and conditions."""
    if isinstance(obj, FlowCondition):
        return True
    if not isinstance(obj, dict):
        return False
    value = cast("dict[str, Any]", obj)
    parts = value.get("conditions", value.get("methods", []))
    return value.get("type") in ("OR", "AND") and isinstance(parts, list)


def is_flow_condition_list(obj: Any) -> bool:
    """Return whether an object is a list of names and conditions."""
    items = cast("list[Any]", obj) if isinstance(obj, list) else None
    return items is not None and all(is_flow_method_name(item) or is_flow_condition_dict(item) for item in items)


def is_simple_flow_condition(obj: Any) -> bool:
    """Return whether an object is a pair of "OR" or "AND" and a list of names."""
    if not isinstance(obj, tuple):
        return False
    pair = cast("tuple[Any, ...]", obj)
    names = pair[1] if len(pair) == 2 and pair[0] in ("OR", "AND") else None
    return isinstance(names, list) and all(isinstance(name, str) for name in cast("list[Any]", names))


def _definition_of(flow: Flow[Any]) -> FlowTopology:
    return flow._definition  # pyright: ignore[reportPrivateUsage]


def _who_fires(event: str, definition: FlowTopology) -> list[str]:
    if event in definition.methods:
        return [event]
    return [method.name for method in definition.methods.values() if event in method.labels]
