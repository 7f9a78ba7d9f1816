"""Random flows, stopped after every write of theirs and resumed, compared with the rules."""

import asyncio
import os
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any, cast

import pytest
from combinations import of
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode

from crewgraph.compiler.flow.graph import flow_form
from crewgraph.compiler.flow.running import RUNNING
from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.definitions.flow.method import FlowMethod, events_of
from crewgraph.definitions.revision import DerivedCache
from crewgraph.errors import DefinitionChanged, FlowLoopError
from crewgraph.flow import Flow

from .parts import kickoff
from .random_flows import LABELS, LARGE, Naive, computed, flows, values

EXAMPLES, SAMPLE = int(os.environ.get("GOING_ON", of(4, 12))), 8
"""How many flows are drawn, and at how many of its writes each is stopped."""

Table = dict[str, list[Any]]
"""What each method returns in its first rounds; later it returns nothing."""

ran: list[str] = []
"""The executions that came to their end, in order."""


class Watched(InMemorySaver):
    """Looks back: what it held after each write, and what had come to its end by then."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: list[tuple[dict[str, Any], list[str]]] = []

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return self._seen(super().put(config, checkpoint, metadata, new_versions))

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._seen(super().put_writes(config, writes, task_id, task_path))

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.put_writes(config, writes, task_id, task_path)

    def _seen(self, reported: Any) -> Any:
        held = {"storage": self.storage, "writes": self.writes, "blobs": self.blobs}
        self.moments.append((deepcopy({name: _plain(one) for name, one in held.items()}), list(ran)))
        return reported

    @classmethod
    def at(cls, held: dict[str, Any]) -> "Watched":
        """A saver that holds what another one held."""
        made = cls()
        for thread, spaces in held["storage"].items():
            for space, stored in spaces.items():
                made.storage[thread][space] = deepcopy(stored)
        for key, stored in held["writes"].items():
            made.writes[key] = deepcopy(stored)
        made.blobs.update(held["blobs"])
        return made


def _plain(held: Any) -> Any:
    return {key: _plain(one) for key, one in cast("dict[Any, Any]", held).items()} if isinstance(held, dict) else held


@st.composite
def tables(draw: st.DrawFn, definition: FlowTopology) -> Table:
    return {
        name: draw(st.lists(values(method.is_router), min_size=1, max_size=3))
        for name, method in definition.methods.items()
    }


def made(definition: FlowTopology, table: Table, pauses: dict[str, int]) -> type["Flow[dict[str, Any]]"]:
    """The flow as a class whose methods return what the table says, after so many turns of the loop."""

    def method(name: str) -> Any:
        async def work(self: Any, *given: Any) -> Any:
            running = RUNNING.get()
            assert running is not None
            for _ in range(pauses[name]):
                await asyncio.sleep(0)
            ran.append(running.name)
            number = int(running.name.rpartition("#")[2])
            return table[name][number - 1] if number <= len(table[name]) else None

        return work

    class Drawn(Flow[dict[str, Any]]):
        max_method_calls = 4

    methods = {name: replace(one, func=method(name)) for name, one in definition.methods.items()}
    drawn = replace(definition, methods=methods, name="Drawn", derived=DerivedCache())
    drawn.derived.put(flow_form, flow_form(drawn))  # what is drawn has faults, mostly: listeners that can never run
    Drawn._definition = drawn  # pyright: ignore[reportPrivateUsage]
    return Drawn


def in_flight(kind: type["Flow[Any]"], saver: InMemorySaver) -> set[str] | None:
    """What a run that is kept is still to do; None where nothing is kept yet."""
    state = kind().compile(checkpointer=saver).get_state({"configurable": {"thread_id": "run"}})
    return set(state.values["progress"]["inflight"]) if "progress" in state.values else None


def check(definition: FlowTopology, table: Table, done: list[str], to_its_end: bool) -> None:
    """Whether executions, in this order, are a run by the rules."""
    naive = Naive(definition)
    for name in done:
        mine = next(one for one in naive.inflight if f"{one.method}#{one.round}" == name)
        number = mine.round
        naive.complete(mine, table[mine.method][number - 1] if number <= len(table[mine.method]) else None)
    assert not to_its_end or naive.inflight == []


def run_on(mode: Mode, flow: "Flow[Any]") -> bool:
    """Go to the end; whether that is there, and not a loop that goes on for too long."""
    try:
        kickoff(mode, flow, inputs={"id": "run"})
    except FlowLoopError:
        return False
    return True


@pytest.mark.filterwarnings("ignore:no run of flow")
@settings(max_examples=EXAMPLES, suppress_health_check=[*LARGE, HealthCheck.function_scoped_fixture])
@given(flows(), st.data())
def test_a_run_continues_from_its_every_write(mode: Mode, definition: FlowTopology, data: st.DataObject):
    table = data.draw(tables(definition))
    kind = made(definition, table, {name: data.draw(st.integers(0, 3)) for name in definition.methods})
    saver = Watched()
    ran.clear()
    ended = run_on(mode, kind(checkpointer=saver))
    check(definition, table, list(ran), ended)
    chance = Random(data.draw(st.integers(0, 10**6)))  # how many moments there are is a matter of time
    for held, before in chance.sample(saver.moments, min(SAMPLE, len(saver.moments))):
        stored = Watched.at(held)
        open_ones = in_flight(kind, stored)
        if not open_ones:
            continue
        ran.clear()
        ended = run_on(mode, kind(checkpointer=stored))
        completed = [name for name in before if name not in open_ones]
        assert not set(completed) & set(ran)  # nothing that has completed runs again
        check(definition, table, completed + ran, ended)


@st.composite
def edits(draw: st.DrawFn, definition: FlowTopology) -> FlowTopology:
    """A flow with some other methods: one without effect, a new one, one less, or one with the triggers of another."""
    methods = dict(definition.methods)
    for edit in draw(st.lists(st.sampled_from(["unheard", "added", "removed", "moved"]), min_size=1, max_size=2)):
        if edit == "unheard":
            methods["unheard"] = FlowMethod(name="unheard", func=computed, trigger="never")
        elif edit == "added":
            trigger = draw(st.sampled_from([*definition.methods, *LABELS]))
            methods["added"] = FlowMethod(name="added", func=computed, trigger=trigger)
        else:
            name = draw(st.sampled_from([*methods][1:] or ["m0"]))
            other = methods[draw(st.sampled_from([*methods]))]
            if edit == "removed" and len(methods) > 1:
                del methods[name]
            elif name not in (*events_of(other.trigger), *events_of(other.condition)):
                methods[name] = replace(other, name=name)
    return replace(definition, methods=methods, derived=DerivedCache())


@pytest.mark.filterwarnings("ignore:no run of flow")
@settings(max_examples=EXAMPLES, suppress_health_check=[*LARGE, HealthCheck.function_scoped_fixture])
@given(flows(), st.data())
def test_an_edited_flow_continues_as_if_it_had_begun_the_run_or_refuses(
    mode: Mode, definition: FlowTopology, data: st.DataObject
):
    table = data.draw(tables(definition))
    pauses = {name: data.draw(st.integers(0, 3)) for name in definition.methods}
    edited = data.draw(edits(definition))
    saver = Watched()
    ran.clear()
    run_on(mode, made(definition, table, pauses)(checkpointer=saver))
    added: Table = {name: [] for name in edited.methods if name not in table}
    table, kind = {**table, **added}, made(edited, {**table, **added}, {**pauses, **dict.fromkeys(added, 0)})
    chance = Random(data.draw(st.integers(0, 10**6)))
    for held, before in chance.sample(saver.moments, min(SAMPLE, len(saver.moments))):
        stored = Watched.at(held)
        open_ones = in_flight(made(definition, table, pauses), stored)
        if not open_ones:
            continue
        ran.clear()
        try:
            ended = run_on(mode, kind(checkpointer=stored))
        except DefinitionChanged:
            assert not ran
            event("refused")
            continue
        event("continued")
        completed = [name for name in before if name not in open_ones]
        assert not set(completed) & set(ran)
        kept = [name for name in completed if name.rpartition("#")[0] in edited.methods]
        check(edited, table, kept + ran, ended)
