"""Pictures of flows and crews: their nodes and the edges between them as data, and as mermaid text."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from crewgraph.annotations import signature_text
from crewgraph.compiler.flow.graph import edges_of
from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.definitions.flow.method import AndCondition, Condition, FlowMethod, events_of

KICKOFF_METHODS = frozenset(
    {
        "akickoff",
        "akickoff_for_each",
        "kickoff",
        "kickoff_async",
        "kickoff_for_each",
        "kickoff_for_each_async",
    }
)
"""Methods that start the run of a crew."""


def calls_crew(function: Callable[..., Any]) -> bool:
    """Return whether a function's code uses the name of a kickoff method.

    This is a guess, made without running the code: an agent or a flow that is kicked off looks the same as a crew, crews
    kicked off in called functions are missed, and unreachable code counts.
    """
    code: CodeType | None = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and _names_kickoff(code)


def _names_kickoff(code: CodeType) -> bool:
    """Whether code, or the code of a function in it, uses an attribute or a global with the name of a kickoff method."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return not KICKOFF_METHODS.isdisjoint(code.co_names) or any(map(_names_kickoff, inner))


@dataclass(frozen=True)
class Node:
    """A method of a flow or a task of a crew in a picture."""

    name: str
    """Identifies it in the picture: the name of the method, or of the task's node."""

    kind: str
    """For methods "router", "start" or "listener" (a router that is also a start method is a "router"); else "task"."""

    begins: bool
    """Whether a run begins with the method."""

    calls_crew: bool
    """Whether the method seems to call a crew; see `calls_crew`."""

    signature: str
    text: str
    """The docstring, or an empty string."""

    waits: str
    """The trigger condition in words; empty if there is none."""

    labels: tuple[str, ...]
    """The labels it may return, as far as they are known."""

    title: str = ""
    """Its label, as the author wrote it; empty to show the name."""

    note: str = ""
    """A second line: the agent of a task."""

    is_conditional: bool = False
    """Whether it is a task that may be skipped."""

    facts: tuple[tuple[str, str], ...] = ()
    """What else there is to tell, by name."""

    @property
    def label(self) -> str:
        """Its label in the drawing."""
        return self.title or self.name


@dataclass(frozen=True)
class Edge:
    """An edge from one method to another."""

    source: str
    target: str
    labels: tuple[str, ...] = ()
    """The labels that trigger the target; empty if the source's completion does."""

    routed: bool = False
    """Whether a router emits the labels."""

    joined: bool = False
    """Whether the target also waits for other events."""

    @property
    def kind(self) -> str:
        """The style of the edge: "router", "and" or "or"."""
        return "router" if self.routed else "and" if self.joined else "or"


@dataclass(frozen=True)
class Picture:
    """A flow or a crew as its nodes and edges."""

    name: str
    text: str
    """The docstring of a flow."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    noun: str = "flow"
    """What is drawn: "flow" or "crew"."""


def build_picture(topology: FlowTopology, name: str, text: str) -> Picture:
    """Build the picture of a flow.

    Args:
        topology: The flow's methods and their triggers.
        name: The flow's name.
        text: The flow's docstring.
    """
    methods = tuple(_drawn_method(topology, method) for method in topology.methods.values())
    return Picture(name, text, methods, tuple(_trigger_edges(topology)))


def _trigger_edges(topology: FlowTopology) -> Iterator[Edge]:
    """Yield the edges; labels between the same methods with the same style share one edge."""
    labels: dict[tuple[str, str, bool, bool], list[str]] = {}
    joined = {
        name: _joined_events(method.trigger) | _joined_events(method.condition)
        for name, method in topology.methods.items()
    }
    for source, target, label in dict.fromkeys(edges_of(topology)):
        routed = label is not None and topology.methods[source].is_router
        key = (source, target, routed, (label or source) in joined[target])
        labels.setdefault(key, []).extend([] if label is None else [label])
    for (source, target, routed, is_joined), names in labels.items():
        yield Edge(source, target, tuple(names), routed, is_joined)


def _joined_events(condition: Condition | None) -> set[str]:
    """Return the events that cannot meet a condition alone."""
    if condition is None or isinstance(condition, str):
        return set()
    if isinstance(condition, AndCondition) and len(condition.conditions) > 1:
        return set(events_of(condition))
    return {event for part in condition.conditions for event in _joined_events(part)}


def _drawn_method(topology: FlowTopology, method: FlowMethod) -> Node:
    return Node(
        name=method.name,
        kind="router" if method.is_router else "start" if method.is_start else "listener",
        begins=method.name in topology.starts,
        calls_crew=calls_crew(method.func),
        signature=_signature(method),
        text=inspect.getdoc(method.func) or "",
        waits=_describe_trigger(method),
        labels=method.labels,
    )


def _describe_trigger(method: FlowMethod) -> str:
    waits = [
        _describe_condition(condition) for condition in (method.trigger, method.condition) if condition is not None
    ]
    if method.predicate is not None:
        waits.append(f"the function {getattr(method.predicate, '__qualname__', 'given')}, evaluated at the start")
    return "; ".join(waits)


def _describe_condition(condition: Condition, nested: bool = False) -> str:
    if isinstance(condition, str):
        return condition
    separator = " and " if isinstance(condition, AndCondition) else " or "
    words = separator.join(
        _describe_condition(part, nested=len(condition.conditions) > 1) for part in condition.conditions
    )
    return f"({words})" if nested and len(condition.conditions) > 1 else words


def _signature(method: FlowMethod) -> str:
    try:
        text = signature_text(method.func)
    except (TypeError, ValueError):  # written in C
        return f"{method.name}(...)"
    return f"{'async def' if method.is_async else 'def'} {method.name}{text}"


_SHAPES = {"start": ("((", "))"), "listener": ("([", "])"), "router": ("{", "}"), "task": ("(", ")")}
_STYLES = {
    "start": "fill:#dff5e7,stroke:#1f9d55,color:#1d2330",
    "listener": "fill:#efe7fd,stroke:#7c3aed,color:#1d2330",
    "router": "fill:#e0eafc,stroke:#2563eb,color:#1d2330",
    "task": "fill:#efe7fd,stroke:#7c3aed,color:#1d2330",
    "crew": "stroke-dasharray:6 4",
}
_COLORS = {"or": "#7c3aed", "and": "#2563eb", "router": "#15803d"}


def mermaid(picture: Picture) -> str:
    """Return a picture as a mermaid flowchart from left to right; names and labels are escaped."""
    return "\n".join(["flowchart LR", *(f"    {line}" for line in _lines(picture))]) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    ids = {node.name: f"m{number}" for number, node in enumerate(picture.nodes)}
    for node in picture.nodes:
        yield _mermaid_node(node, ids[node.name])
    for edge in picture.edges:
        yield _edge(edge, ids)
    for kind, style in _STYLES.items():
        if (kind == "task") == (picture.noun == "crew") or kind == "crew":
            yield f"classDef {kind} {style}"
    for kind in _SHAPES:
        members = [ids[node.name] for node in picture.nodes if node.kind == kind]
        if members:
            yield f"class {','.join(members)} {kind}"
    if crews := [ids[node.name] for node in picture.nodes if node.calls_crew or node.is_conditional]:
        yield f"class {','.join(crews)} crew"
    for kind, color in _COLORS.items():
        numbers = [str(number) for number, edge in enumerate(picture.edges) if edge.kind == kind]
        if numbers:
            yield f"linkStyle {','.join(numbers)} stroke:{color}"


def _mermaid_node(node: Node, node_id: str) -> str:
    left, right = _SHAPES[node.kind]
    text = f"{_escape(node.label)}<br>{_escape(node.note)}" if node.note else _escape(node.label)
    return f'{node_id}{left}"{text}"{right}'


def _edge(edge: Edge, ids: dict[str, str]) -> str:
    arrow = "-.->" if edge.joined else "-->"
    label = f'|"{_escape(" | ".join(edge.labels))}"|' if edge.labels else ""
    return f"{ids[edge.source]} {arrow}{label} {ids[edge.target]}"


def _escape(text: str) -> str:
    """Replace all characters except letters, digits and a few harmless ones by numeric entities."""
    return "".join(char if char.isalnum() or char in " _-.," else f"#{ord(char)};" for char in text) or "#32;"
