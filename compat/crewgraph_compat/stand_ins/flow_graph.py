"""Questions about the methods of a flow, under the names that CrewAI 1.2 has for them.

Where CrewAI's own answers go wrong (nested conditions are read letter by letter there), these follow the flow's definition.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, cast

from crewgraph.definitions.flow.definition import FlowDefinition
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.flow.method import (
    FlowCondition,
    events_of,
    get_metadata,
    label_of,
    labels_in_code,
    returned_labels,
)

__all__ = [
    "build_ancestor_dict",
    "build_parent_children_dict",
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
    "process_router_paths",
]


def get_possible_return_constants(function: Callable[..., Any]) -> list[str] | None:
    """The texts that a function may return; None where its code does not tell."""
    found = returned_labels(function) or labels_in_code(function)
    return sorted(label_of(label) for label in found) if found else None


def build_parent_children_dict(flow: Flow[Any]) -> dict[str, list[str]]:
    """Each method to those that wait for it, or for a label that it returns; sorted."""
    children: dict[str, set[str]] = {}
    definition = _definition(flow)
    for method in definition.methods.values():
        for event in (*events_of(method.trigger), *events_of(method.condition)):
            for parent in _who_fires(event, definition):
                children.setdefault(parent, set()).add(method.name)
    return {parent: sorted(found) for parent, found in children.items()}


def get_child_index(parent: str, child: str, parent_children: Mapping[str, list[str]]) -> int:
    """The place of a child among those of its parent.

    Raises:
        ValueError: it is none of them.
    """
    return sorted(parent_children.get(parent, [])).index(child)


def count_outgoing_edges(flow: Flow[Any]) -> dict[str, int]:
    """By method, how many methods wait for it."""
    children = build_parent_children_dict(flow)
    return {name: len(children.get(name, ())) for name in _definition(flow).methods}


def calculate_node_levels(flow: Flow[Any]) -> dict[str, int]:
    """By method, how many steps it is away from a start at least."""
    children = build_parent_children_dict(flow)
    methods = _definition(flow).methods.values()
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
    """Put the listeners of a router's labels one level below it, and in the queue."""
    for child in build_parent_children_dict(flow).get(current, ()):
        if child not in levels or levels[child] > current_level + 1:
            levels[child] = current_level + 1
            queue.append(child)


def build_ancestor_dict(flow: Flow[Any]) -> dict[str, set[str]]:
    """Each method to all that come before it on some way."""
    ancestors: dict[str, set[str]] = {name: set() for name in _definition(flow).methods}
    for name in ancestors:
        dfs_ancestors(name, ancestors, set(), flow)
    return ancestors


def dfs_ancestors(node: str, ancestors: dict[str, set[str]], visited: set[str], flow: Flow[Any]) -> None:
    """Enter a method as ancestor of everything behind it."""
    if node in visited:
        return
    visited.add(node)
    for child in build_parent_children_dict(flow).get(node, ()):
        ancestors.setdefault(child, set()).update({node}, ancestors.get(node, ()))
        dfs_ancestors(child, ancestors, visited, flow)


def is_ancestor(node: str, ancestor_candidate: str, ancestors: Mapping[str, set[str]]) -> bool:
    """Whether a method comes before another one."""
    return ancestor_candidate in ancestors.get(node, ())


def method_calls_crew(method: Any) -> bool:
    """Whether the code of a method runs a crew."""
    code = getattr(getattr(method, "__func__", method), "__code__", None)
    return code is not None and bool({"kickoff", "kickoff_async", "akickoff", "crew"} & set(code.co_names))


def is_flow_method_name(obj: Any) -> bool:
    """Whether it is a text, as names of methods are."""
    return isinstance(obj, str)


def is_flow_method(obj: Any) -> bool:
    """Whether a decorator of flows stands above it."""
    return get_metadata(getattr(obj, "__func__", obj)) is not None


def is_flow_method_callable(obj: Any) -> bool:
    """Whether it is a function that has a name."""
    return callable(obj) and hasattr(obj, "__name__")


def is_flow_condition_dict(obj: Any) -> bool:
    """Whether it is a condition: what `and_` and `or_` give, or a dict with a type and conditions."""
    if isinstance(obj, FlowCondition):
        return True
    if not isinstance(obj, dict):
        return False
    given = cast("dict[str, Any]", obj)
    parts = given.get("conditions", given.get("methods", []))
    return given.get("type") in ("OR", "AND") and isinstance(parts, list)


def is_flow_condition_list(obj: Any) -> bool:
    """Whether it is a list of names and conditions."""
    items = cast("list[Any]", obj) if isinstance(obj, list) else None
    return items is not None and all(is_flow_method_name(one) or is_flow_condition_dict(one) for one in items)


def is_simple_flow_condition(obj: Any) -> bool:
    """Whether it is a pair of "OR" or "AND" and a list of names."""
    if not isinstance(obj, tuple):
        return False
    pair = cast("tuple[Any, ...]", obj)
    names = pair[1] if len(pair) == 2 and pair[0] in ("OR", "AND") else None
    return isinstance(names, list) and all(isinstance(name, str) for name in cast("list[Any]", names))


def _definition(flow: Flow[Any]) -> FlowDefinition:
    return flow._definition  # pyright: ignore[reportPrivateUsage]


def _who_fires(event: str, definition: FlowDefinition) -> list[str]:
    if event in definition.methods:
        return [event]
    return [method.name for method in definition.methods.values() if event in method.labels]
