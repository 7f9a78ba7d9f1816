"""The algebra of triggers against a second one, written from its rules, over flows, values and orders drawn at random."""

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crewgraph.compiler.flow.algebra import Progress, advanced, begun, check_calls, labels_of
from crewgraph.compiler.flow.plan import Plan
from crewgraph.definitions.flow.condition import AndCondition, Condition, FlowCondition, OrCondition
from crewgraph.definitions.flow.definition import FlowDefinition
from crewgraph.definitions.flow.method import FlowMethod
from crewgraph.errors import FlowLoopError

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example]
LABELS = ("L0", "L1", "L2", "P0", "P1")


class Mark(Enum):
    L1 = "L1"


def computed(flow: Any) -> Any:
    """What stands for every method: its code does not tell what it returns."""
    return flow.value


# Flows at random


@st.composite
def conditions(draw: st.DrawFn, events: list[str], depth: int = 0) -> Condition:
    kind = draw(st.sampled_from(["event", "event", "and", "or"] if depth < 2 else ["event"]))
    if kind == "event":
        return draw(st.sampled_from(events))
    parts = tuple(draw(conditions(events, depth + 1)) for _ in range(draw(st.integers(1, 3))))
    return AndCondition(parts) if kind == "and" else OrCondition(parts)


@st.composite
def flows(draw: st.DrawFn) -> FlowDefinition:
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
    return FlowDefinition(name="Drawn", methods=methods)


def values(is_router: bool) -> st.SearchStrategy[Any]:
    label = st.sampled_from([*LABELS, "m0", "m1"])
    if not is_router:
        return st.one_of(st.none(), st.just(7), label)
    return st.one_of(st.none(), label, st.lists(label, max_size=3), st.just(Mark.L1))


# The rules, once more: everything that happened is kept, and every listener looks at all of it


@dataclass
class Signal:
    """Something that happened: a completion, or a label."""

    name: str
    round: int
    by: "Ran"
    is_label: bool = False
    routed_in: "Ran | None" = None
    """For the label of a router: the completion that set off the routers that said it."""


@dataclass
class Ran:
    """A method that runs or ran."""

    method: str
    round: int
    cause: Signal | None
    router_set_off_by: "Ran | None" = None
    returned: Any = None

    @property
    def given(self) -> Any:
        if self.cause is None:
            return None
        return self.cause.name if self.cause.is_label else self.cause.by.returned


BEGINNING = Ran("", 0, None)
"""What sets off the routers that a run begins with."""


@dataclass
class Naive:
    """A run of a flow as its rules say."""

    definition: FlowDefinition
    runs: list[Ran] = field(default_factory=list[Ran])
    inflight: list[Ran] = field(default_factory=list[Ran])
    heard: dict[tuple[str, str], list[Signal]] = field(default_factory=dict[tuple[str, str], list[Signal]])
    answered: dict[str, tuple[int, Signal]] = field(default_factory=dict[str, tuple[int, Signal]])

    def __post_init__(self) -> None:
        methods = self.definition.methods.values()
        plain = [one for one in methods if one.is_start and one.condition is None]
        for one in plain or [one for one in methods if one.is_start]:
            self._run(Ran(one.name, 1, None, BEGINNING))

    def _run(self, ran: Ran) -> None:
        earlier = [one.round for one in self.runs if one.method == ran.method]
        if earlier and max(earlier) >= ran.round:
            ran.round = max(earlier) + 1
        self.runs.append(ran)
        self.inflight.append(ran)

    def complete(self, ran: Ran, value: Any) -> None:
        self.inflight.remove(ran)
        ran.returned = value
        reached: list[Ran] = []
        for signal in self._signals(ran, value):
            for listener in self._listeners_of(signal):
                if listener not in [one.method for one in reached]:
                    reached += self._told(listener, signal)
        for one in reached:
            self._run(one)

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
        """A label that is no method, that somebody listens to, and that no router mentions."""
        methods = self.definition.methods
        listened = {event for one in methods.values() for event in (*leaves(one.trigger), *leaves(one.condition))}
        routed = {label for one in methods.values() if one.is_router for label in one.labels}
        return text in listened and text not in methods and text not in routed

    def _listeners_of(self, signal: Signal) -> list[str]:
        """Routers are begun first."""
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
            heard = self.heard.setdefault((name, way), [])
            heard.append(signal)
            if holds(condition, {one.name for one in heard}):
                self.heard[name, way] = []
                return [self._answer(name, heard, signal)]
        return []

    def _is_answered(self, name: str, signal: Signal) -> bool:
        """Whether an `or_` over several has run for this: in this round, and not for other routers."""
        if name not in self.answered or not self._races(name):
            return False
        number, before = self.answered[name]
        if signal.round > number:
            return False
        return signal.routed_in is None or signal.routed_in is before.routed_in

    def _races(self, name: str) -> bool:
        """Listeners do; what starts a method again does so each time."""
        condition = self.definition.methods[name].trigger
        several = isinstance(condition, OrCondition) and len(condition.conditions) > 1
        return several and not self.definition.methods[name].is_router

    def _answer(self, name: str, heard: list[Signal], signal: Signal) -> Ran:
        number = max(one.round for one in {one.name: one for one in heard}.values())
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


# Both, side by side


def in_flight(progress: Progress) -> list[tuple[str, Any]]:
    def given(source: str | None, label: str | None) -> Any:
        return label if label is not None else progress["results"].get(source or "")

    return sorted(
        ((name, repr(given(one["source"], one["label"]))) for name, one in progress["inflight"].items()),
    )


def naively_in_flight(naive: Naive) -> list[tuple[str, Any]]:
    return sorted((f"{one.method}#{one.round}", repr(plainly(one.given))) for one in naive.inflight)


def plainly(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def after(plan: Plan, progress: Progress, done: str, value: Any, result: Any) -> Progress:
    method = progress["inflight"][done]["method"]
    return advanced(plan, progress, done, labels_of(plan, method, value), result)


def completed(plan: Plan, naive: Naive, progress: Progress, data: st.DataObject) -> Progress:
    done = data.draw(st.sampled_from(sorted(progress["inflight"])))
    method = progress["inflight"][done]["method"]
    value = data.draw(values(plan.methods[method].is_router))
    ran = next(one for one in naive.inflight if f"{one.method}#{one.round}" == done)
    naive.complete(ran, value)
    return after(plan, progress, done, value, plainly(value))


@settings(max_examples=1000, deadline=None, suppress_health_check=SLOW, database=None)
@given(flows(), st.data())
def test_what_runs_next_is_what_the_rules_say(definition: FlowDefinition, data: st.DataObject):
    plan = Plan(definition)
    naive = Naive(definition)
    progress = begun(plan, plan.starts, "run")
    for _ in range(25):
        assert in_flight(progress) == naively_in_flight(naive)
        if not progress["inflight"]:
            break
        progress = completed(plan, naive, progress, data)


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW, database=None)
@given(flows(), st.data())
def test_progress_is_json_and_a_run_goes_on_from_it_as_from_the_progress_itself(
    definition: FlowDefinition, data: st.DataObject
):
    plan = Plan(definition)
    progress = begun(plan, plan.starts, "run")
    reread: Progress = json.loads(json.dumps(progress))
    for _ in range(25):
        if not progress["inflight"]:
            break
        done = data.draw(st.sampled_from(sorted(progress["inflight"])))
        value = data.draw(values(plan.methods[progress["inflight"][done]["method"]].is_router))
        progress = after(plan, progress, done, value, plainly(value))
        reread = json.loads(json.dumps(after(plan, reread, done, value, plainly(value))))
        assert json.dumps(progress) == json.dumps(reread)


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW, database=None)
@given(flows(), st.data())
def test_nothing_that_is_given_is_changed(definition: FlowDefinition, data: st.DataObject):
    plan = Plan(definition)
    progress = begun(plan, plan.starts, "run")
    for _ in range(15):
        if not progress["inflight"]:
            break
        before = json.dumps(progress)
        done = data.draw(st.sampled_from(sorted(progress["inflight"])))
        value = data.draw(values(plan.methods[progress["inflight"][done]["method"]].is_router))
        following = after(plan, progress, done, value, plainly(value))
        assert json.dumps(progress) == before
        progress = following


# Sizes and limits


def by_name(flow: Any) -> None:
    """What listens to the method before it."""


def saying(label: str) -> Any:
    """A method that returns a label."""
    found: dict[str, Any] = {}
    exec(f"def say(self):\n    return {label!r}", found)
    return found["say"]


def chain(length: int, by_label: bool) -> FlowDefinition:
    def method(number: int) -> FlowMethod:
        name, before = f"step_{number:05}", f"{'said' if by_label else 'step'}_{number - 1:05}"
        said = f"said_{number:05}"
        return FlowMethod(
            name=name,
            func=saying(said) if by_label else by_name,
            trigger=before if number else None,
            is_start=not number,
        )

    return FlowDefinition(name="Chain", methods={one.name: one for one in map(method, range(length))})


@pytest.mark.parametrize("by_label", [False, True])
def test_progress_does_not_grow_along_a_chain(by_label: bool):
    definition = chain(300, by_label)
    plan = Plan(definition)
    progress = begun(plan, plan.starts, "run")
    sizes: list[int] = []
    while progress["inflight"]:
        (done,) = progress["inflight"]
        value = definition.methods[progress["inflight"][done]["method"]].func(None)
        progress = after(plan, progress, done, value, value)
        sizes.append(len(json.dumps(progress)))
    assert len(sizes) == 300
    assert max(sizes) == sizes[0]


def test_progress_does_not_grow_along_a_loop():
    methods = [
        FlowMethod(name="again", func=computed, condition="more", is_start=True),
        FlowMethod(name="route", func=computed, trigger="again", is_router=True, labels=("more",)),
    ]
    plan = Plan(FlowDefinition(name="Loop", methods={one.name: one for one in methods}))
    progress = begun(plan, plan.starts, "run")
    sizes: list[int] = []
    for _ in range(2_000):
        (done,) = progress["inflight"]
        progress = after(plan, progress, done, "more", "more")
        sizes.append(len(json.dumps(progress)))
    assert max(sizes) - min(sizes) < 40  # the digits of the rounds


def test_two_methods_that_say_the_same_label_make_its_listener_run_twice_at_once():
    methods = [
        FlowMethod(name="a", func=saying("x"), is_start=True),
        FlowMethod(name="b", func=saying("x"), is_start=True),
        FlowMethod(name="h", func=by_name, trigger="x"),
    ]
    plan = Plan(FlowDefinition(name="Twice", methods={one.name: one for one in methods}))
    progress = begun(plan, plan.starts, "run")
    for done in ("a#1", "b#1"):
        progress = after(plan, progress, done, "x", "x")
    assert sorted(progress["inflight"]) == ["h#1", "h#2"]


def test_a_method_that_runs_too_often_is_named():
    methods = [FlowMethod(name="again", func=computed, condition="more", is_start=True, is_router=True)]
    plan = Plan(FlowDefinition(name="Loop", methods={one.name: one for one in methods}))
    progress = begun(plan, plan.starts, "run")
    for number in range(1, 6):
        check_calls(plan, progress, "again", 5)
        progress = after(plan, progress, f"again#{number}", "more", "more")
    with pytest.raises(FlowLoopError, match="method `again` of flow `Loop` has run 5 times"):
        check_calls(plan, progress, "again", 5)


@pytest.mark.parametrize(("second", "runs"), [(None, 1), ("first", 2)])
def test_routers_of_one_event_are_one_signal_and_those_of_two_are_two(second: str | None, runs: int):
    """The beginning is an event, too."""
    methods = [
        FlowMethod(name="first", func=computed, is_start=True, is_router=True),
        FlowMethod(name="second", func=computed, is_start=second is None, trigger=second, is_router=True),
        FlowMethod(name="hearing", func=computed, trigger=OrCondition(("x", "y"))),
    ]
    plan = Plan(FlowDefinition(name="Waves", methods={one.name: one for one in methods}))
    progress = after(plan, begun(plan, plan.starts, "run"), "first#1", "x", "x")
    progress = after(plan, progress, "second#1", "y", "y")
    assert [one["method"] for one in progress["inflight"].values()] == ["hearing"] * runs
