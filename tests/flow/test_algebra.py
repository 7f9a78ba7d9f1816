"""The algebra of triggers, compared with a naive implementation over random flows, values and orders."""

import json
from typing import Any

import pytest
from combinations import of
from hypothesis import given, settings
from hypothesis import strategies as st

from crewgraph.compiler.flow.algebra import Execution, Progress, initial_progress, labels_of, next_progress
from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.definitions.flow.method import FlowMethod, OrCondition

from .random_flows import LARGE, Naive, computed, flows, plainly, values

# Both, side by side


def in_flight(progress: Progress) -> list[tuple[str, Any]]:
    results = progress["results"]

    def given(one: Execution) -> Any:
        if one["label"] is None:
            return results.get(one["source"] or "")
        return results[one["wave"]] if one["wave"] else one["label"]

    return sorted((name, repr(given(one))) for name, one in progress["inflight"].items())


def naively_in_flight(naive: Naive) -> list[tuple[str, Any]]:
    return sorted((f"{one.method}#{one.round}", repr(plainly(one.given))) for one in naive.inflight)


def after(topology: FlowTopology, progress: Progress, done: str, value: Any, result: Any) -> Progress:
    method = progress["inflight"][done]["method"]
    return next_progress(topology, progress, done, labels_of(topology, method, value), result)


def completed(topology: FlowTopology, naive: Naive, progress: Progress, data: st.DataObject) -> Progress:
    done = data.draw(st.sampled_from(sorted(progress["inflight"])))
    method = progress["inflight"][done]["method"]
    value = data.draw(values(topology.methods[method].is_router))
    ran = next(one for one in naive.inflight if f"{one.method}#{one.round}" == done)
    naive.complete(ran, value)
    return after(topology, progress, done, value, plainly(value))


@settings(max_examples=of(100, 1000), suppress_health_check=LARGE)
@given(flows(), st.data())
def test_what_runs_next_is_what_the_rules_say(topology: FlowTopology, data: st.DataObject):
    naive = Naive(topology)
    progress = initial_progress(topology, topology.starts, "run")
    for _ in range(25):
        assert in_flight(progress) == naively_in_flight(naive)
        if not progress["inflight"]:
            break
        progress = completed(topology, naive, progress, data)


@settings(max_examples=of(30, 150), suppress_health_check=LARGE)
@given(flows(), st.data())
def test_progress_is_json_that_is_not_changed_and_a_run_continues_from_it_as_from_the_progress_itself(
    topology: FlowTopology, data: st.DataObject
):
    progress = initial_progress(topology, topology.starts, "run")
    reread: Progress = json.loads(json.dumps(progress))
    for _ in range(25):
        if not progress["inflight"]:
            break
        before = json.dumps(progress)
        done = data.draw(st.sampled_from(sorted(progress["inflight"])))
        value = data.draw(values(topology.methods[progress["inflight"][done]["method"]].is_router))
        following = after(topology, progress, done, value, plainly(value))
        assert json.dumps(progress) == before
        progress = following
        reread = json.loads(json.dumps(after(topology, reread, done, value, plainly(value))))
        assert json.dumps(progress) == json.dumps(reread)


# Sizes and limits


def by_name(flow: Any) -> None:
    """What listens to the method before it."""


def saying(label: str) -> Any:
    """A method that returns a label."""
    found: dict[str, Any] = {}
    exec(f"def say(self):\n    return {label!r}", found)
    return found["say"]


def chain(length: int, by_label: bool) -> FlowTopology:
    def method(number: int) -> FlowMethod:
        name, before = f"step_{number:05}", f"{'said' if by_label else 'step'}_{number - 1:05}"
        said = f"said_{number:05}"
        return FlowMethod(
            name=name,
            func=saying(said) if by_label else by_name,
            trigger=before if number else None,
            is_start=not number,
        )

    return FlowTopology(name="Chain", methods={one.name: one for one in map(method, range(length))})


@pytest.mark.parametrize("by_label", [False, True])
def test_progress_does_not_grow_along_a_chain(by_label: bool):
    topology = chain(300, by_label)
    progress = initial_progress(topology, topology.starts, "run")
    sizes: list[int] = []
    while progress["inflight"]:
        (done,) = progress["inflight"]
        value = topology.methods[progress["inflight"][done]["method"]].func(None)
        progress = after(topology, progress, done, value, value)
        sizes.append(len(json.dumps(progress)))
    assert len(sizes) == 300
    assert max(sizes) == sizes[0]


def test_progress_does_not_grow_along_a_loop():
    methods = [
        FlowMethod(name="again", func=computed, condition="more", is_start=True),
        FlowMethod(name="route", func=computed, trigger="again", is_router=True, labels=("more",)),
    ]
    topology = FlowTopology(name="Loop", methods={one.name: one for one in methods})
    progress = initial_progress(topology, topology.starts, "run")
    sizes: list[int] = []
    for _ in range(2_000):
        (done,) = progress["inflight"]
        progress = after(topology, progress, done, "more", "more")
        sizes.append(len(json.dumps(progress)))
    assert max(sizes) - min(sizes) < 40  # the digits of the rounds


def test_two_methods_that_say_the_same_label_make_its_listener_run_twice_at_once():
    methods = [
        FlowMethod(name="a", func=saying("x"), is_start=True),
        FlowMethod(name="b", func=saying("x"), is_start=True),
        FlowMethod(name="h", func=by_name, trigger="x"),
    ]
    topology = FlowTopology(name="Twice", methods={one.name: one for one in methods})
    progress = initial_progress(topology, topology.starts, "run")
    for done in ("a#1", "b#1"):
        progress = after(topology, progress, done, "x", "x")
    assert sorted(progress["inflight"]) == ["h#1", "h#2"]


@pytest.mark.parametrize(("second", "runs"), [(None, 1), ("first", 2)])
def test_routers_of_one_event_are_one_signal_and_those_of_two_are_two(second: str | None, runs: int):
    """The beginning is an event, too."""
    methods = [
        FlowMethod(name="first", func=computed, is_start=True, is_router=True),
        FlowMethod(name="second", func=computed, is_start=second is None, trigger=second, is_router=True),
        FlowMethod(name="hearing", func=computed, trigger=OrCondition(("x", "y"))),
    ]
    topology = FlowTopology(name="Waves", methods={one.name: one for one in methods})
    progress = after(topology, initial_progress(topology, topology.starts, "run"), "first#1", "x", "x")
    progress = after(topology, progress, "second#1", "y", "y")
    ran: list[str] = []
    while progress["inflight"]:
        (done,) = [name for name in progress["inflight"] if name not in ran][:1]
        ran.append(done)
        progress = after(topology, progress, done, None, None)
    assert ran == [f"hearing#{number}" for number in range(1, runs + 1)]
