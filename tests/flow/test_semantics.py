# pyright: basic
"""The semantics of triggers: which method runs when, in which round, and with which arguments.

The methods of these flows note themselves in a list; the expected notes stand inline.
"""

import asyncio
import enum
import threading
import time
from functools import partial
from typing import Any, Literal

import pytest
from modes import Mode
from waiting import LONG, wait_until_async

from crewgraph.compiler.flow import scheduler
from crewgraph.compiler.flow.background import StartingTurn
from crewgraph.errors import DefinitionError, FlowLoopError, RunError
from crewgraph.events import FlowFinishedEvent, MethodExecutionFailedEvent
from crewgraph.flow import Flow, and_, listen, or_, router, start
from crewgraph.testing import record_events

from .parts import kickoff


class Noting(Flow):
    """A flow whose methods note themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.notes = []

    def note(self, what):
        self.notes.append(what)

    def recorded(self, what):
        return self.notes.count(what)


def test_the_loser_of_an_or_race_runs_on_and_feeds_its_own_listeners(mode: Mode):
    class OrRace(Noting):
        @start()
        def s(self):
            self.note("s")

        @listen(s)
        async def a(self):
            self.note("a")
            return "A"

        @listen(s)
        async def b(self):
            await wait_until_async(lambda: self.recorded("hA"))
            self.note("b")
            return "B"

        @listen(or_(a, b))
        def h(self, r):
            self.note(f"h{r}")

        @listen(b)
        def b2(self):
            self.note("b2")

    flow = OrRace()
    kickoff(mode, flow)
    assert flow.notes == ["s", "a", "hA", "b", "b2"]


def test_an_or_of_an_event_and_the_label_that_a_router_returns_for_it_fires_once(mode: Mode):
    class Same(Noting):
        @start()
        def s(self):
            return "S"

        @router(s)
        def r(self):
            return "L"

        @listen(or_(s, "L"))
        def x(self, given):
            self.note(f"x:{given}")

    flow = Same()
    kickoff(mode, flow)
    assert flow.notes == ["x:S"]


def test_an_or_handler_runs_in_every_round_of_a_loop(mode: Mode):
    class AltLoop(Noting):
        n = 0

        @start()
        def s(self):
            self.note("s")

        @router(or_(s, "h_done"))
        def r(self):
            self.n += 1
            self.note(f"r{self.n}")
            return {1: "go_a", 2: "go_b", 3: "go_a"}.get(self.n, "stop")

        @listen("go_a")
        def a(self):
            self.note("a")

        @listen("go_b")
        def b(self):
            self.note("b")

        @listen(or_(a, b))
        def h(self):
            self.note("h")

        @router(h)
        def again(self):
            return "h_done"

        @listen("stop")
        def fin(self):
            self.note("fin")
            return "F"

    flow = AltLoop()
    assert kickoff(mode, flow) == "F"
    assert flow.notes == ["s", "r1", "a", "h", "r2", "b", "h", "r3", "a", "h", "r4", "fin"]


def test_and_arms_again_in_every_round_of_a_loop(mode: Mode):
    class AndRearm(Noting):
        n = 0

        @start()
        def s(self):
            self.note("s")

        @router(or_(s, "more"))
        def r(self):
            self.n += 1
            return "go" if self.n < 3 else "stop"

        @listen("go")
        def a(self):
            self.note("a")

        @listen("go")
        def b(self):
            self.note("b")

        @listen(and_(a, b))
        def j(self):
            self.note("j")

        @router(j)
        def m(self):
            return "more"

        @listen("stop")
        def fin(self):
            self.note("fin")

    flow = AndRearm()
    kickoff(mode, flow)
    assert [one for one in flow.notes if one in ("j", "fin", "s")] == ["s", "j", "j", "fin"]
    assert (flow.recorded("a"), flow.recorded("b")) == (2, 2)


def test_or_with_an_and_inside_fires_once_in_a_round(mode: Mode):
    class NestedOA(Noting):
        @start()
        def a(self):
            self.note("a")

        @listen(a)
        def b(self):
            self.note("b")

        @listen(b)
        def c(self):
            self.note("c")

        @listen(or_(and_(a, c), b))
        def h(self):
            self.note("h")

    flow = NestedOA()
    kickoff(mode, flow)
    assert sorted(flow.notes) == ["a", "b", "c", "h"]
    assert flow.notes.index("h") > flow.notes.index("b")


def test_a_label_that_equals_a_method_name_is_heard_by_the_listeners_of_both(mode: Mode):
    class SameLabelName(Noting):
        @start()
        def s(self):
            self.note("s")

        @router(s)
        def r(self):
            return "b"

        @listen("b")
        def x(self):
            self.note("x")

        @listen("x")
        def b(self):
            self.note("b")

    flow = SameLabelName()
    with pytest.raises(FlowLoopError, match=r"method `x` of flow `SameLabelName` has run 100 times"):
        kickoff(mode, flow)
    assert flow.notes[:6] == ["s", "x", "b", "x", "b", "x"]
    assert (flow.recorded("x"), flow.recorded("b")) == (100, 100)


def test_a_listener_named_as_its_label_is_refused_when_it_is_to_run(mode: Mode):
    class SelfLabel(Noting):
        @start()
        def s(self):
            self.note("s")

        @router(s)
        def r(self):
            return "done"

        @listen("done")
        def done(self):
            self.note("done")

    with pytest.raises(DefinitionError, match="listens to `done`, which is its own name"):
        kickoff(mode, SelfLabel())


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("returned", "label", "notes"),
    [
        (Colour.RED, "red", ["s", "r:S", "heard:<Colour.RED: 'red'>", "x:'red'"]),
        (True, "True", ["s", "r:S", "heard:True", "x:'True'"]),
        ("label", "label", ["s", "r:S", "heard:'label'", "x:'label'"]),
        ("nobody", "label", ["s", "r:S", "heard:'nobody'"]),
    ],
)
def test_the_listener_of_a_label_is_given_its_text_and_that_of_the_router_what_it_returned(
    mode: Mode, returned, label, notes
):
    class Routed(Noting):
        @start()
        def s(self):
            self.note("s")
            return "S"

        @router(s)
        def r(self, x):
            self.note(f"r:{x}")
            return returned

        @listen(r)
        def heard(self, x):
            self.note(f"heard:{x!r}")

        @listen(label)
        def x(self, given):
            self.note(f"x:{given!r}")

    flow = Routed()
    kickoff(mode, flow)
    assert flow.notes == notes


def test_a_router_that_returns_none_ends_its_branch(mode: Mode):
    class RNone(Noting):
        @start()
        def s(self):
            self.note("s")
            return "s"

        @router(s)
        def r(self):
            self.note("r")

        @listen("None")
        def x1(self):
            self.note("x1")

    flow = RNone()
    with pytest.warns(UserWarning, match="listens to `None`"):
        assert kickoff(mode, flow) is None
    assert flow.notes == ["s", "r"]


def test_a_start_with_a_label_alongside_a_plain_start_waits_for_the_label(mode: Mode):
    class Cond(Noting):
        @start()
        def s(self):
            self.note("s")

        @start("lbl")
        def t(self):
            self.note("t")

        @router(s)
        def r(self):
            self.note("r")
            return "lbl"

    flow = Cond()
    kickoff(mode, flow)
    assert flow.notes == ["s", "r", "t"]


def test_a_start_with_the_name_of_a_method_alongside_a_plain_start_never_runs(mode: Mode):
    class CondName(Noting):
        @start()
        def s(self):
            self.note("s")

        @start("s")
        def t(self):
            self.note("t")

    flow = CondName()
    with pytest.warns(
        UserWarning, match="`t` of flow `CondName` is started again by `s`, a method; only labels do that"
    ):
        kickoff(mode, flow)
    assert flow.notes == ["s"]


def test_routers_run_first_one_after_another_and_their_labels_come_after_the_listeners(mode: Mode):
    class InTurn(Noting):
        @start()
        def s(self):
            self.note("s")

        @listen("x")
        def after_x(self):
            self.note("after x")

        @listen("y")
        def after_y(self):
            self.note("after y")
            return "the last"

        @listen(s)
        async def heard(self):
            self.note("heard")
            await asyncio.sleep(0.02)

        @listen(heard)
        def after_heard(self):
            self.note("after heard")

        @router(s)
        async def first(self):
            self.note("first")
            await asyncio.sleep(0.02)
            self.note("first ends")
            return "x"

        @router(s)
        async def second(self):
            self.note("second")
            return "y"

        @listen(first)
        async def after_first(self):
            await asyncio.sleep(0.02)
            self.note("after first")

    flow = InTurn()
    assert kickoff(mode, flow) == "the last"
    routers = ["s", "first", "first ends", "after first", "second"]
    assert flow.notes == [*routers, "heard", "after heard", "after x", "after y"]


def test_and_is_given_the_result_of_its_last_arm(mode: Mode):
    class Args(Flow):
        @start()
        def a(self):
            return "A"

        @start()
        async def b(self):
            await wait_until_async(lambda: "A" in self.method_outputs)
            return "B"

        @listen(and_(a, b))
        def j(self, r):
            return f"j:{r}"

    assert kickoff(mode, Args()) == "j:B"


def test_the_result_is_what_the_method_returned_that_completed_last(mode: Mode):
    class MultiStart(Flow):
        @start()
        def a(self):
            return "A"

        @listen(a)
        async def a2(self):
            await wait_until_async(lambda: "B" in self.method_outputs)
            return "A2"

        @start()
        def b(self):
            return "B"

    flow = MultiStart()
    assert kickoff(mode, flow) == "A2"
    assert flow.method_outputs[-1] == "A2"
    assert sorted(flow.method_outputs) == ["A", "A2", "B"]


def test_an_arm_of_an_and_that_fires_twice_counts_once(mode: Mode):
    class AndDup(Noting):
        n = 0

        @start()
        def s(self):
            self.note("s")

        @router(or_(s, "more"))
        def r(self):
            self.n += 1
            return "go" if self.n < 3 else "b_lbl"

        @listen("go")
        def a(self):
            self.note("a")

        @router(a)
        def m(self):
            return "more"

        @listen("b_lbl")
        def b(self):
            self.note("b")

        @listen(and_(a, b))
        def j(self):
            self.note("j")

    flow = AndDup()
    kickoff(mode, flow)
    assert flow.notes == ["s", "a", "a", "b", "j"]


# Which texts are labels


def test_a_text_that_equals_a_method_name_fires_nothing_when_a_plain_method_returns_it(mode: Mode):
    class Named(Noting):
        @start()
        def s(self):
            return "later"

        @listen(s)
        def t(self):
            return "s"

        @listen("later")
        def never(self):
            self.note("never")

        @listen("nothing")
        def later(self):
            self.note("later")

    flow = Named()
    with pytest.warns(UserWarning, match="listens to `nothing`"):
        kickoff(mode, flow)
    assert flow.notes == []


def test_a_label_that_a_router_mentions_is_not_fired_by_a_plain_method_that_returns_it(mode: Mode):
    class Mentioned(Noting):
        @start()
        def s(self):
            return "approved"

        @router(s)
        def r(self, x):
            return "approved" if x == "other" else "refused"

        @listen("approved")
        def yes(self):
            self.note("yes")

        @listen("refused")
        def no(self):
            self.note("no")

    flow = Mentioned()
    kickoff(mode, flow)
    assert flow.notes == ["no"]


def test_a_label_that_a_router_computes_is_not_fired_by_the_plain_method_that_it_routes(mode: Mode):
    class Classified(Noting):
        @start()
        def classify(self):
            return "billing"

        @router(classify)
        def route(self, kind):
            return kind if kind else "other"

        @listen("billing")
        def settle(self):
            self.note("settle")

        @listen("other")
        def answer(self):
            self.note("answer")

    flow = Classified()
    kickoff(mode, flow)
    assert flow.notes == ["settle"]


def test_a_router_that_a_label_triggers_receives_what_the_router_before_it_received(mode: Mode):
    class Sorted(Noting):
        @start()
        def load(self):
            return {"kind": "invoice"}

        @router(load)
        def validate(self, data):
            return "valid" if data else "empty"

        @router("valid")
        def sort(self, data):
            self.note(data["kind"])
            return "sorted"

        @router("sorted")
        def rank(self, data):
            self.note(data["kind"])
            return "ranked"

        @listen("ranked")
        def end(self, label):
            self.note(label)

    flow = Sorted()
    kickoff(mode, flow)
    assert flow.notes == ["invoice", "invoice", "ranked"]


def test_a_label_for_which_a_router_waits_is_fired_by_a_plain_method_whatever_routers_compute(mode: Mode):
    class Waited(Noting):
        @start()
        def s(self):
            return "read"

        @router("read")
        def r(self):
            return "-".join(["t", "wo"]).replace("-", "")

        @listen("two")
        def heard_two(self):
            self.note("two")

    flow = Waited()
    kickoff(mode, flow)
    assert flow.notes == ["two"]


def test_a_router_whose_annotation_names_a_label_owns_it(mode: Mode):
    class Annotated(Noting):
        @start()
        def s(self):
            return "yes"

        @router(s)
        def r(self) -> Literal["yes", "no"]:
            return ("n" + "o").lower()  # type: ignore[return-value]

        @listen("yes")
        def on_yes(self):
            self.note("yes")

        @listen("no")
        def on_no(self):
            self.note("no")

    flow = Annotated()
    kickoff(mode, flow)
    assert flow.notes == ["no"]


# Side by side


def test_a_listener_does_not_wait_for_what_runs_alongside_its_trigger(mode: Mode):
    class Beside(Noting):
        @start()
        async def a(self):
            await asyncio.sleep(0.05)

        @listen(a)
        def a2(self):
            self.note("a2")

        @start()
        async def b(self):
            await wait_until_async(lambda: self.recorded("a2"))
            self.note("b")

    flow = Beside()
    kickoff(mode, flow)
    assert flow.notes == ["a2", "b"]


def test_quick_methods_that_start_at_once_mostly_end_in_the_order_of_their_definitions(mode: Mode):
    class Quick(Noting):
        @start()
        def begin(self):
            self.notes.clear()

        @listen(begin)
        def a(self):
            self.note("a")
            return "a"

        @listen(begin)
        def b(self):
            self.note("b")
            return "b"

        @listen(and_(a, b))
        def both(self, result):
            self.note(result)

        @listen(both)
        async def c(self):
            self.note("c")
            return "c"

        @listen(both)
        async def d(self):
            self.note("d")
            return "d"

    flow, runs = Quick(), list[tuple[str, list[str]]]()
    for _ in range(60):
        runs.append((kickoff(mode, flow), [*flow.notes]))
    in_order = runs.count(("d", ["a", "b", "b", "c", "d"]))
    assert in_order >= 48, runs  # each of the pairs was in disorder in a fifth of all runs when nothing saw to it


def test_a_method_waits_for_its_turn_and_takes_it_if_the_one_before_never_begins():
    first, begun = StartingTurn(), list[str]()
    second = StartingTurn(first)
    third = StartingTurn(second)
    threads = [
        threading.Thread(target=turn.take, args=(partial(begun.append, name),))
        for name, turn in [("third", third), ("second", second)]
    ]
    for thread in threads:
        thread.start()
    threads[1].join(0.05)
    assert begun == []
    first.pass_on()
    for thread in threads:
        thread.join()
    assert sorted(begun) == ["second", "third"]


@pytest.mark.parametrize("count", [2, 40])
def test_all_methods_that_are_due_run_at_the_same_time(mode: Mode, count: int):
    barrier = threading.Barrier(count)

    def member(self):
        barrier.wait(LONG)

    body = {f"m{number}": start()(_copied(member, f"m{number}")) for number in range(count)}
    flow = type("Meeting", (Flow,), body)()
    kickoff(mode, flow)
    assert len(flow.method_outputs) == count


def _copied(function, name):
    def copy(self):
        return function(self)

    copy.__name__ = name
    return copy


# What fails


class Boom(Exception):
    pass


def test_an_exhausted_iterator_in_a_method_is_named_as_what_was_raised(mode: Mode):
    class Exhausted(Flow):
        @start()
        def a(self):
            raise StopIteration("no more")

    with pytest.raises(RuntimeError, match="^StopIteration was raised: no more") as raised:
        kickoff(mode, Exhausted())
    assert "in method `a` of flow `Exhausted`" in raised.value.__notes__


def test_an_exception_carries_the_name_of_its_method(mode: Mode):
    class Failing(Flow):
        @start()
        def a(self):
            return 1

        @listen(a)
        def b(self):
            raise Boom("it broke")

    with record_events() as events, pytest.raises(Boom, match="it broke") as caught:
        kickoff(mode, Failing())
    assert "in method `b` of flow `Failing`" in caught.value.__notes__
    assert [event.method_name for event in events if isinstance(event, MethodExecutionFailedEvent)] == ["b"]
    assert not any(isinstance(event, FlowFinishedEvent) for event in events)


def test_what_runs_in_a_thread_alongside_a_failing_method_is_awaited_and_its_listeners_do_not_run(mode: Mode):
    class Failing(Noting):
        has_started, failed = threading.Barrier(3), threading.Event()

        @start()
        def a(self):
            self.has_started.wait(LONG)
            raise Boom

        @start()
        def b(self):
            self.has_started.wait(LONG)
            assert self.failed.wait(LONG)
            self.note("b ends")

        @start()
        async def c(self):
            try:
                await asyncio.to_thread(self.has_started.wait, LONG)
                await asyncio.sleep(100)
            finally:  # cancelled, as soon as the failure was seen
                self.failed.set()

        @listen(b)
        def b2(self):
            self.note("b2")

    flow = Failing()
    with pytest.raises(Boom):
        kickoff(mode, flow)
    assert flow.notes == ["b ends"]


def test_what_was_completed_before_a_failure_is_not_lost(mode: Mode):
    class Failing(Noting):
        @start()
        def a(self):
            self.state["a"] = "done"
            return "A"

        @listen(a)
        async def slow(self):
            await wait_until_async(lambda: "Q" in self.method_outputs)
            raise Boom

        @listen(a)
        def quick(self):
            self.state["quick"] = "done"
            return "Q"

    flow = Failing()
    with pytest.raises(Boom):
        kickoff(mode, flow)
    assert (flow.state["a"], flow.state["quick"]) == ("done", "done")
    assert flow.method_outputs == ["A", "Q"]
    assert flow._completed_methods == {"a", "quick"}


def test_two_failures_at_once_raise_the_first_one(mode: Mode):
    class Failing(Flow):
        barrier = threading.Barrier(2)

        @start()
        def a(self):
            self.barrier.wait(LONG)
            raise Boom("a")

        @start()
        def b(self):
            self.barrier.wait(LONG)
            raise Boom("b")

    with pytest.raises(Boom) as caught:
        kickoff(mode, Failing())
    assert str(caught.value) in ("a", "b")


def test_a_loop_without_an_end_stops_with_an_error_that_says_what_to_do(mode: Mode):
    class Endless(Noting):
        max_method_calls = 7

        @start("more")
        def a(self):
            self.note("a")

        @router(a)
        def r(self):
            return "more"

    flow = Endless()
    with pytest.raises(FlowLoopError, match=r"(?s)method `a` of flow `Endless` has run 7 times.*`max_method_calls`"):
        kickoff(mode, flow)
    assert flow.recorded("a") == 7


def test_a_thread_that_does_not_end_is_reported_in_the_error(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scheduler, "GRACE", 0.1)

    class Failing(Noting):
        has_started, free = threading.Event(), threading.Event()

        @start()
        def a(self):
            self.has_started.wait(LONG)
            raise Boom

        @start()
        def b(self):
            self.has_started.set()
            self.free.wait(LONG)

        @listen(b)
        def b2(self):
            self.note("b2")

    flow = Failing()

    def failing():
        with pytest.raises(Boom) as caught:
            flow.kickoff()
        Failing.free.set()
        return caught.value

    async def afailing():
        with pytest.raises(Boom) as caught:
            await flow.kickoff_async()
        Failing.free.set()
        return caught.value

    notes = mode.run(failing, afailing).__notes__
    assert "`b` could not be stopped within 0.1 seconds; its result is discarded" in notes
    assert flow.notes == []


def test_a_run_that_is_cancelled_cancels_its_methods():
    class Waiting(Noting):
        @start()
        async def a(self):
            await self.sleep("a")

        @start()
        async def b(self):
            await self.sleep("b")

        async def sleep(self, name):
            self.note(name)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.note(f"{name} is cancelled")
                raise

    flow = Waiting()

    async def cancelled():
        run = asyncio.create_task(flow.kickoff_async())
        while len(flow.notes) < 2:
            await asyncio.sleep(0.01)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await wait_until_async(lambda: len(flow.notes) == 4)
        return list(flow.notes)

    assert asyncio.run(cancelled()) == ["a", "b", "a is cancelled", "b is cancelled"]


# Inputs, states and several runs


def test_inputs_update_the_state_and_reach_start_methods_by_name(mode: Mode):
    class Greeting(Flow):
        @start()
        def greet(self, name, punctuation="!"):
            return f"hello {name}{punctuation}"

        @listen(greet)
        def done(self, said):
            return said + f" ({self.state['name']})"

    assert kickoff(mode, Greeting(), {"name": "Ann", "other": 1}) == "hello Ann! (Ann)"


def test_an_input_that_a_start_method_needs_and_that_is_missing_is_an_error(mode: Mode):
    class Greeting(Flow):
        @start()
        def greet(self, name):
            return name

    with pytest.raises(RunError, match=r"method `greet` needs `name`, which is not among the inputs \(`nome`\)"):
        kickoff(mode, Greeting(), {"nome": "Ann"})


def test_a_start_method_with_keywords_is_given_all_inputs(mode: Mode):
    class Open(Flow):
        @start()
        def begin(self, **given: object):
            return given

    assert kickoff(mode, Open(), {"a": 1, "b": 2}) == {"a": 1, "b": 2}


def test_a_start_that_a_label_starts_again_is_given_the_label(mode: Mode):
    class Again(Noting):
        @start("more")
        def a(self, given=None):
            self.note(given)

        @router(a)
        def r(self):
            return "more" if len(self.notes) < 2 else None

    flow = Again()
    kickoff(mode, flow)
    assert flow.notes == [None, "more"]


def test_runs_of_one_object_at_the_same_time_have_each_their_own_state(mode: Mode):
    class Counting(Flow):
        @start()
        async def a(self):
            self.state["seen"] = [self.state["who"]]
            await asyncio.sleep(0.02)

        @listen(a)
        async def b(self):
            await asyncio.sleep(0.01)
            self.state["seen"].append(self.state["who"])
            return self.state["who"], self.state["seen"]

    flow = Counting()
    if mode.asynchronous:

        async def several():
            return await asyncio.gather(*(flow.kickoff_async({"who": n}) for n in range(5)))

        results = asyncio.run(several())
    else:
        results = []
        threads = [threading.Thread(target=lambda n=n: results.append(flow.kickoff({"who": n}))) for n in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(results) == [(n, [n, n]) for n in range(5)]


def test_outside_a_run_the_state_is_that_of_the_last_run(mode: Mode):
    class Remembering(Flow):
        @start()
        def a(self):
            self.state["runs"] = self.state.get("runs", 0) + 1

    flow = Remembering()
    kickoff(mode, flow, {"x": 1})
    assert (flow.state["runs"], flow.state["x"]) == (1, 1)
    kickoff(mode, flow, {"x": 2})
    assert flow.state["x"] == 2


def test_each_run_counts_its_own_outputs(mode: Mode):
    class Twice(Flow):
        @start()
        def a(self):
            return self.state["x"]

    flow = Twice()
    kickoff(mode, flow, {"x": 1})
    kickoff(mode, flow, {"x": 2})
    assert flow.method_outputs == [2]
    assert dict(flow._method_execution_counts) == {"a": 1}


def test_a_state_is_a_dict_with_an_id_that_an_input_may_give(mode: Mode):
    class Named(Flow):
        @start()
        def a(self):
            return self.state["id"]

    assert kickoff(mode, Named(), {"id": "mine"}) == "mine"
    assert len(kickoff(mode, Named())) == 36


def test_an_async_method_is_cancelled_at_once_when_a_sync_one_alongside_it_fails(
    mode: Mode, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(scheduler, "GRACE", LONG)
    ended: list[str] = []
    waits = threading.Event()

    class Fails(Flow[dict[str, Any]]):
        @start()
        def bad(self) -> None:
            assert waits.wait(LONG)
            raise ValueError("bad")

        @start()
        async def slow(self) -> None:
            waits.set()
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

    has_started = time.monotonic()
    with pytest.raises(ValueError, match="bad") as caught, record_events() as events:
        kickoff(mode, Fails())
    assert caught.value.__notes__ == ["in method `bad` of flow `Fails`"]
    assert ended == ["cancelled"] and time.monotonic() - has_started < LONG
    assert [one.method_name for one in events if isinstance(one, MethodExecutionFailedEvent)] == ["bad"]


def test_a_method_that_cancels_itself_is_named(mode: Mode):
    class Cancels(Flow[dict[str, Any]]):
        @start()
        async def bad(self) -> None:
            raise asyncio.CancelledError

        @start()
        async def beside(self) -> None:
            await asyncio.sleep(0.05)

    with pytest.raises(RunError, match="`bad` of flow `Cancels` was cancelled by its own code"):
        kickoff(mode, Cancels())
