"""What is to be seen of a flow: its methods and the ways between them, as data.

Whether a method calls a crew, as far as its code tells.

A flow as mermaid text.
"""

import dis
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from crewgraph.compiler.flow.graph import edges_of
from crewgraph.compiler.flow.plan import TriggerPlan
from crewgraph.definitions.flow.method import AndCondition, Condition, FlowMethod, events_of

__all__ = ["VERBS", "Method", "Picture", "Way", "calls_crew", "mermaid", "picture_of"]


VERBS = frozenset(
    {
        "akickoff",
        "akickoff_for_each",
        "kickoff",
        "kickoff_async",
        "kickoff_for_each",
        "kickoff_for_each_async",
    }
)
"""What begins the run of a crew."""

_READS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


def calls_crew(function: Callable[..., Any]) -> bool:
    """Whether a function's code names one of the verbs as an attribute of something.

    A guess, made without running anything: an agent or another flow that is kicked off looks the same, a crew that is
    kicked off in a function that this one calls is not seen, and code that is never reached counts.
    """
    code: CodeType | None = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and any(name in VERBS for name in _read(code))


def _read(code: CodeType) -> Iterator[str]:
    """The attributes that code reads, the functions inside it included."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in _READS:
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _read(constant)


@dataclass(frozen=True)
class Method:
    """A method."""

    name: str
    kind: str
    """What it is drawn as: "router", "start" or "listener"; a router that starts is a router."""

    begins: bool
    """Whether a run begins with it."""

    calls_crew: bool
    """See `crewgraph.plot.picture`."""

    signature: str
    text: str
    """Its docstring; empty where there is none."""

    waits: str
    """What it waits for, in words; empty where it waits for nothing."""

    labels: tuple[str, ...]
    """What it may return, as far as that is known."""


@dataclass(frozen=True)
class Way:
    """A way from one method to another."""

    source: str
    target: str
    labels: tuple[str, ...] = ()
    """The labels that lead there; none where the source's completion does."""

    routed: bool = False
    """Whether a router fires them."""

    joined: bool = False
    """Whether the target waits for other events, too."""

    @property
    def kind(self) -> str:
        """What it is drawn as: "router", "and" or "or"."""
        return "router" if self.routed else "and" if self.joined else "or"


@dataclass(frozen=True)
class Picture:
    """A flow."""

    name: str
    text: str
    """What the flow's docstring says."""

    methods: tuple[Method, ...]
    ways: tuple[Way, ...]


def picture_of(plan: TriggerPlan, name: str, text: str) -> Picture:
    """What is to be seen of a flow.

    Args:
        plan: what its triggers come to.
        name: what it is called.
        text: what it is for.
    """
    methods = tuple(_method(plan, method) for method in plan.methods.values())
    return Picture(name, text, methods, tuple(_ways(plan)))


def _ways(plan: TriggerPlan) -> Iterator[Way]:
    """Labels that lead from one method to another in the same manner are one way."""
    labels: dict[tuple[str, str, bool, bool], list[str]] = {}
    joined = {name: _joined(one.trigger) | _joined(one.condition) for name, one in plan.methods.items()}
    for source, target, label in dict.fromkeys(edges_of(plan)):
        routed = label is not None and plan.methods[source].is_router
        key = (source, target, routed, (label or source) in joined[target])
        labels.setdefault(key, []).extend([] if label is None else [label])
    for (source, target, routed, together), found in labels.items():
        yield Way(source, target, tuple(found), routed, together)


def _joined(condition: Condition | None) -> set[str]:
    """The events that do not meet a condition alone."""
    if condition is None or isinstance(condition, str):
        return set()
    if isinstance(condition, AndCondition) and len(condition.conditions) > 1:
        return set(events_of(condition))
    return {event for one in condition.conditions for event in _joined(one)}


def _method(plan: TriggerPlan, method: FlowMethod) -> Method:
    return Method(
        name=method.name,
        kind="router" if method.is_router else "start" if method.is_start else "listener",
        begins=method.name in plan.starts,
        calls_crew=calls_crew(method.func),
        signature=_signature(method),
        text=inspect.getdoc(method.func) or "",
        waits=_waits(method),
        labels=method.labels,
    )


def _waits(method: FlowMethod) -> str:
    waits = [_words(one) for one in (method.trigger, method.condition) if one is not None]
    if method.predicate is not None:
        waits.append(f"the function {getattr(method.predicate, '__qualname__', 'given')}, asked at the beginning")
    return "; ".join(waits)


def _words(condition: Condition, inside: bool = False) -> str:
    if isinstance(condition, str):
        return condition
    joint = " and " if isinstance(condition, AndCondition) else " or "
    words = joint.join(_words(one, inside=len(condition.conditions) > 1) for one in condition.conditions)
    return f"({words})" if inside and len(condition.conditions) > 1 else words


def _signature(method: FlowMethod) -> str:
    try:
        signature = inspect.signature(method.func)
    except (NameError, TypeError, ValueError):  # it is written in C, or names what only type checkers import
        return f"{method.name}(...)"
    own = list(signature.parameters.values())[1:]
    begin = "async def" if method.is_async else "def"
    return f"{begin} {method.name}{signature.replace(parameters=own)}"


_SHAPES = {"start": ("((", "))"), "listener": ("([", "])"), "router": ("{", "}")}
_STYLES = (
    "classDef start fill:#dff5e7,stroke:#1f9d55,color:#1d2330",
    "classDef listener fill:#efe7fd,stroke:#7c3aed,color:#1d2330",
    "classDef router fill:#e0eafc,stroke:#2563eb,color:#1d2330",
    "classDef crew stroke-dasharray:6 4",
)
_COLOURS = {"or": "#7c3aed", "and": "#2563eb", "router": "#15803d"}


def mermaid(picture: Picture) -> str:
    """A flow as the text of a mermaid flowchart, from left to right; names and labels are escaped."""
    return "\n".join(["flowchart LR", *(f"    {line}" for line in _lines(picture))]) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    marks = {method.name: f"m{number}" for number, method in enumerate(picture.methods)}
    for method in picture.methods:
        yield _node(method, marks[method.name])
    for way in picture.ways:
        yield _way(way, marks)
    yield from _STYLES
    for kind in _SHAPES:
        named = [marks[method.name] for method in picture.methods if method.kind == kind]
        if named:
            yield f"class {','.join(named)} {kind}"
    if crews := [marks[method.name] for method in picture.methods if method.calls_crew]:
        yield f"class {','.join(crews)} crew"
    for kind, colour in _COLOURS.items():
        numbers = [str(number) for number, way in enumerate(picture.ways) if way.kind == kind]
        if numbers:
            yield f"linkStyle {','.join(numbers)} stroke:{colour}"


def _node(method: Method, mark: str) -> str:
    left, right = _SHAPES[method.kind]
    return f'{mark}{left}"{_escaped(method.name)}"{right}'


def _way(way: Way, marks: dict[str, str]) -> str:
    arrow = "-.->" if way.joined else "-->"
    label = f'|"{_escaped(" | ".join(way.labels))}"|' if way.labels else ""
    return f"{marks[way.source]} {arrow}{label} {marks[way.target]}"


def _escaped(text: str) -> str:
    """A text with everything as a number that is not a letter, a digit, a space or harmless."""
    return "".join(one if one.isalnum() or one in " _-.," else f"#{ord(one)};" for one in text) or "#32;"
