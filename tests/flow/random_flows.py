"""Random flows, and a naive implementation of the trigger rules to compare others with."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, cast

from hypothesis import HealthCheck
from hypothesis import strategies as st

from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.definitions.flow.method import AndCondition, Condition, FlowCondition, FlowMethod, OrCondition

__all__ = ["LARGE", "Naive", "computed", "flows", "holds", "leaves", "plainly", "values"]

LARGE = [HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example]
LABELS = ("L0", "L1", "L2", "P0", "P1")


class Mark(Enum):
    L1 = "L1"


def computed(flow: Any) -> Any:
    """The function of every method; its code does not reveal what it returns."""
    return flow.value


# Random flows


@st.composite
def conditions(draw: st.DrawFn, events: list[str], depth: int = 0) -> Condition:
    kind = draw(st.sampled_from(["event", "event", "and", "or"] if depth < 2 else ["event"]))
    if kind == "event":
        return draw(st.sampled_from(events))
    parts = tuple(draw(conditions(events, depth + 1)) for _ in range(draw(st.integers(1, 3))))
    return AndCondition(parts) if kind == "and" else OrCondition(parts)


@st.composite
def flows(draw: st.DrawFn) -> FlowTopology:
    names = [f"m{number}" for number in range(draw(st.integers(2, 7)))]
    methods: dict[str, FlowMethod] = {}
    for number, name in enumerate(names):
        kinds = ["start", "again", "listen", "listen", "listen", "router", "router", "start router", "start listen"]
        kind = "start" if number == 0 else draw(st.sampled_from(kinds))
        events = [*(one for one in names if one != name), *LABELS]
        listens = kind in ("listen", "router", "start listen")
        methods[name] = FlowMethod(
            name=name,
            func=computed,
            trigger=draw(conditions(events)) if listens else None,
            condition=draw(conditions(events)) if kind == "again" else None,
            is_start=kind in ("start", "again", "start router", "start listen"),
            is_router="router" in kind,
            labels=tuple(draw(st.sets(st.sampled_from(["L0", "L1", "L2"])))) if "router" in kind else (),
        )
    return FlowTopology(name="Drawn", methods=methods)


def values(is_router: bool) -> st.SearchStrategy[Any]:
    label = st.sampled_from([*LABELS, "m0", "m1"])
    if not is_router:
        return st.one_of(st.none(), st.just(7), label)
    return st.one_of(st.none(), label, st.lists(label, max_size=3), st.just(Mark.L1))


# The rules, naively: all signals are stored, and every listener examines all of them


@dataclass
class Signal:
    """A signal: a completion, or a label."""

    name: str
    round: int
    by: "Ran"
    is_label: bool = False
    routed_in: "Ran | None" = None
    """For the label of a router: the completion that triggered the routers that returned it."""


@dataclass
class Ran:
    """An execution of a method."""

    method: str
    round: int
    cause: Signal | None
    router_set_off_by: "Ran | None" = None
    returned: Any = None

    @property
    def given(self) -> Any:
        if self.cause is None:
            return None
        if not self.cause.is_label:
            return self.cause.by.returned
        if self.router_set_off_by is None or self.router_set_off_by is BEGINNING:
            return self.cause.name
        return self.router_set_off_by.returned


BEGINNING = Ran("", 0, None)
"""The trigger of the routers that a run starts with."""


Activity = Iterator[None]
"""An execution and all that follows it; waits for completions."""


def _continued(activities: list[Activity]) -> list[Activity]:
    """Continue activities and return those that have not ended."""
    return [one for one in activities if next(one, one) is not one]


@dataclass
class Naive:
    """A run of a flow, simulated by its rules."""

    definition: FlowTopology
    runs: list[Ran] = field(default_factory=list[Ran])
    inflight: list[Ran] = field(default_factory=list[Ran])
    received: dict[tuple[str, str], list[Signal]] = field(default_factory=dict[tuple[str, str], list[Signal]])
    answered: dict[str, tuple[int, Signal]] = field(default_factory=dict[str, tuple[int, Signal]])
    activities: list[Activity] = field(default_factory=list[Activity])

    def __post_init__(self) -> None:
        methods = self.definition.methods.values()
        plain = [one for one in methods if one.is_start and one.condition is None]
        starts = plain or [one for one in methods if one.is_start]
        self.activities = _continued([self._activity(Ran(one.name, 1, None, BEGINNING)) for one in starts])

    def _activity(self, ran: Ran, caught: list[Signal] | None = None) -> Activity:
        """Run a method and all that follows it, up to the labels of a router if they are `caught`."""
        self._run(ran)
        while any(one is ran for one in self.inflight):
            yield
        own, *labels = self._signals(ran, ran.returned)
        if not any(one.is_router for one in self.definition.methods.values()):
            parallel = [self._activity(one) for one in self._reached([own, *labels])]
            while parallel := _continued(parallel):
                yield
            return
        yield from self._turns([(True, own), (False, own)])
        if caught is None:
            yield from self._turns([*((True, one) for one in labels), *((False, one) for one in labels)])
        else:
            caught += labels

    def _turns(self, turns: list[tuple[bool, Signal]]) -> Activity:
        """Run the routers or the other listeners of one signal after the other."""
        while turns:
            for_routers, signal = turns.pop(0)
            methods = self.definition.methods
            reached = self._reached([signal], [one.name for one in methods.values() if one.is_router is for_routers])
            if for_routers:
                for one in reached:
                    yield from self._activity(one, fired := list[Signal]())
                    turns = [*((True, label) for label in fired), *turns, *((False, label) for label in fired)]
            else:
                parallel = [self._activity(one) for one in reached]
                while parallel := _continued(parallel):
                    yield

    def _reached(self, signals: list[Signal], among: list[str] | None = None) -> list[Ran]:
        reached: list[Ran] = []
        for signal in signals:
            for listener in self._listeners_of(signal):
                if listener not in [one.method for one in reached] and (among is None or listener in among):
                    reached += self._told(listener, signal)
        return reached

    def _run(self, ran: Ran) -> None:
        earlier = [one.round for one in self.runs if one.method == ran.method]
        if earlier and max(earlier) >= ran.round:
            ran.round = max(earlier) + 1
        self.runs.append(ran)
        self.inflight.append(ran)

    def complete(self, ran: Ran, value: Any) -> None:
        self.inflight = [one for one in self.inflight if one is not ran]
        ran.returned = value
        self.activities = _continued(self.activities)

    def _signals(self, ran: Ran, value: Any) -> list[Signal]:
        signals = [Signal(ran.method, ran.round, ran)]
        if self.definition.methods[ran.method].is_router:
            several = cast("list[Any]", value if isinstance(value, list) else [value])
            for one in several:
                text: Any = one.value if isinstance(one, Enum) else one
                if text is not None:
                    signals.append(Signal(str(text), ran.round, ran, True, ran.router_set_off_by))
        elif isinstance(value, str) and self._is_said(value):
            signals.append(Signal(value, ran.round, ran, True))
        return signals

    def _is_said(self, text: str) -> bool:
        """Whether a text is a label that a method fires: not a method, listened to, and not one that a router may return."""
        methods = self.definition.methods
        routers = [one for one in methods.values() if one.is_router]
        listening = routers if any(not one.labels for one in routers) else methods.values()
        listened = {event for one in listening for event in leaves(one.trigger)}
        if listening is not routers:
            listened |= {event for one in methods.values() for event in leaves(one.condition)}
        return text in listened and text not in methods and not any(text in one.labels for one in routers)

    def _listeners_of(self, signal: Signal) -> list[str]:
        """Return the listeners of a signal, routers first."""
        methods = self.definition.methods
        hearing = [
            name
            for name, one in methods.items()
            if signal.name in leaves(one.trigger) or (signal.is_label and signal.name in leaves(one.condition))
        ]
        return [name for name in hearing if methods[name].is_router] + [
            name for name in hearing if not methods[name].is_router
        ]

    def _told(self, name: str, signal: Signal) -> list[Ran]:
        method = self.definition.methods[name]
        ways = [("trigger", method.trigger)]
        if signal.is_label:
            ways.append(("condition", method.condition))
        for way, condition in ways:
            if signal.name not in leaves(condition) or (way == "trigger" and self._is_answered(name, signal)):
                continue
            received = self.received.setdefault((name, way), [])
            received.append(signal)
            if holds(condition, {one.name for one in received}):
                self.received[name, way] = []
                return [self._answer(name, received, signal)]
        return []

    def _is_answered(self, name: str, signal: Signal) -> bool:
        """Whether an `or_` over several events has already fired in this round, for labels of the same routers."""
        if name not in self.answered or not self._races(name):
            return False
        number, before = self.answered[name]
        if signal.round > number:
            return False
        return signal.routed_in is None or signal.routed_in is (before.routed_in or before.by)

    def _races(self, name: str) -> bool:
        """Whether a listener waits for any of several events and runs once per round; routers run each time."""
        condition = self.definition.methods[name].trigger
        several = isinstance(condition, OrCondition) and len(condition.conditions) > 1
        return several and not self.definition.methods[name].is_router

    def _answer(self, name: str, received: list[Signal], signal: Signal) -> Ran:
        number = max(one.round for one in {one.name: one for one in received}.values())
        if self._races(name):
            self.answered[name] = (number, signal)
        set_off = (signal.routed_in or signal.by) if self.definition.methods[name].is_router else None
        return Ran(name, number, signal, set_off)


def leaves(condition: Condition | None) -> list[str]:
    if not isinstance(condition, FlowCondition):
        return [condition] if condition else []
    return [event for one in condition.conditions for event in leaves(one)]


def holds(condition: Condition | None, events: set[str]) -> bool:
    if not isinstance(condition, FlowCondition):
        return condition in events
    parts = [holds(one, events) for one in condition.conditions]
    return False not in parts if isinstance(condition, AndCondition) else True in parts


def plainly(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
