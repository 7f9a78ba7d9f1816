"""What is to be seen of a flow: its methods and the ways between them, as data."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

from crewgraph.compiler.flow.drawing import edges_of
from crewgraph.compiler.flow.plan import Plan
from crewgraph.definitions.flow.condition import AndCondition, Condition, events_of
from crewgraph.definitions.flow.method import FlowMethod
from crewgraph.plot.kickoffs import calls_crew

__all__ = ["Method", "Picture", "Way", "picture_of"]


@dataclass(frozen=True)
class Method:
    """A method."""

    name: str
    kind: str
    """What it is drawn as: "router", "start" or "listener"; a router that starts is a router."""

    begins: bool
    """Whether a run begins with it."""

    calls_crew: bool
    """See `crewgraph.plot.kickoffs`."""

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


def picture_of(plan: Plan, name: str, text: str) -> Picture:
    """What is to be seen of a flow.

    Args:
        plan: what its triggers come to.
        name: what it is called.
        text: what it is for.
    """
    methods = tuple(_method(plan, method) for method in plan.methods.values())
    return Picture(name, text, methods, tuple(_ways(plan)))


def _ways(plan: Plan) -> Iterator[Way]:
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


def _method(plan: Plan, method: FlowMethod) -> Method:
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
