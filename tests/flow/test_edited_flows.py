"""Runs of flows that are resumed after the flow was edited."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from waiting import wait_until

from crewgraph.errors import DefinitionChanged
from crewgraph.flow import Flow, and_, human_feedback, listen, persist, router, start

Form = Mapping[str, Callable[[Any], Any]]
"""The methods of a flow, with their decorators."""


def class_of(
    form: Form, ran: list[str], failing: str = "", after: str = "", returns: Mapping[str, object] | None = None
) -> type[Flow[Any]]:
    """A class of flows whose methods note that they run, and return their names, or what `returns` gives.

    Args:
        form: its methods.
        ran: where they note it.
        failing: the one that fails.
        after: the one that has begun when it fails.
        returns: what the methods return.
    """

    def method(name: str) -> Callable[[object], object]:
        def run(self: object) -> object:
            if name == failing:
                wait_until(lambda: not after or after in ran)
                raise ConnectionError("down")
            ran.append(name)
            return (returns or {}).get(name, f"{name}'s")

        run.__name__ = name
        return run

    return type("Digest", (Flow,), {name: decorate(method(name)) for name, decorate in form.items()})


def flow_of(form: Form, ran: list[str], failing: str = "", **more: Any) -> Flow[Any]:
    """A flow of such a class whose runs are stored."""
    return persist(class_of(form, ran, failing, **more))()


def stopped(mode: Mode, form: Form, failing: str, **more: Any) -> str:
    """The id of a run that ended because a method failed."""
    flow = flow_of(form, [], failing, **more)
    with pytest.raises(ConnectionError):
        mode.run(flow.kickoff, flow.kickoff_async)
    return flow.flow_id


def resumed(mode: Mode, form: Form, run: str, **more: Any) -> list[str]:
    """The methods that run when a flow of another form resumes a run."""
    ran: list[str] = []
    flow = flow_of(form, ran, **more)
    mode.run(flow.resume, flow.aresume, run)
    return ran


def refused(mode: Mode, form: Form, run: str) -> str:
    """The problem for which a flow of another form refuses to resume a run; nothing is run."""
    ran: list[str] = []
    flow = flow_of(form, ran)
    with pytest.raises(DefinitionChanged) as error:
        mode.run(flow.resume, flow.aresume, run)
    with pytest.raises(DefinitionChanged, match=re.escape(str(error.value))):
        mode.run(flow.kickoff, flow.kickoff_async, {"id": run})
    assert not ran
    return str(error.value).partition(": the flow has changed")[0].partition("of flow `Digest` ")[2]


FOUND: Form = {"find": start(), "write": listen("find")}


def test_a_method_put_behind_a_completed_one_is_not_left_out(mode: Mode):
    run = stopped(mode, FOUND, "write")
    edited = flow_of({**FOUND, "notify": listen("find")}, ran := [])
    with pytest.raises(DefinitionChanged) as error:
        mode.run(edited.resume, edited.aresume, run)
    assert str(error.value) == (
        f"the run `{run}` of flow `Digest` continues with method `write`, and has no result of method `notify`: the flow has "
        "changed since, and nothing was run. Resume with the methods and triggers that the run began with, or continue from an "
        f"earlier step: `flow.fork(flow.history('{run}')[0])`."
    )
    assert not ran
    mode.run(edited.fork, edited.afork, edited.history(run)[0])
    assert sorted(ran) == ["find", "notify", "write"]


def test_a_start_with_a_condition_that_was_added_is_not_left_out_if_the_condition_held(mode: Mode):
    def is_for_nobody(run: Mapping[str, Any]) -> bool:
        return "id" in run["state"] and "name" not in run["inputs"]

    def is_for_somebody(run: Mapping[str, Any]) -> bool:
        return "name" in run["inputs"]

    run = stopped(mode, FOUND, "write")
    edited: Form = {**FOUND, "greet": start(is_for_nobody)}
    assert refused(mode, edited, run) == "continues with method `write`, and has no result of method `greet`"
    assert resumed(mode, {**FOUND, "greet": start(is_for_somebody)}, run) == ["write"]


def test_a_kickoff_with_the_id_of_a_finished_run_starts_the_edited_flow(mode: Mode):
    flow = flow_of(FOUND, ran := [])
    mode.run(flow.kickoff, flow.kickoff_async)
    edited = flow_of({**FOUND, "send": listen("write")}, ran)
    mode.run(edited.kickoff, edited.kickoff_async, {"id": flow.flow_id})
    assert ran == ["find", "write", "find", "write", "send"]


def test_a_method_that_was_renamed_while_it_was_to_run_is_named(mode: Mode):
    run = stopped(mode, FOUND, "write")
    edited: Form = {"find": start(), "compose": listen("find")}
    assert refused(mode, edited, run) == "continues with method `write`, which the flow does not have"


def test_a_method_that_now_waits_for_others_does_not_run_before_them(mode: Mode):
    side: Form = {"find": start(), "check": listen("find"), "write": listen("find"), "send": listen("write")}
    side = {**side, "end": listen("check")}
    run = stopped(mode, side, "end", after="send")
    edited: Form = {**side, "write": listen("end")}
    assert refused(mode, edited, run) == "has completed method `write`, which the flow would not have run yet"


def test_a_join_does_not_wait_forever_for_what_has_completed_before_it_was_added(mode: Mode):
    run = stopped(mode, {**FOUND, "end": listen("write")}, "write")
    edited: Form = {**FOUND, "end": listen(and_("find", "write"))}
    assert refused(mode, edited, run) == (
        "continues with method `write`, and has counted other events for method `end` than it would now"
    )


@pytest.mark.parametrize(
    ("edited", "runs"),
    [
        ({**FOUND, "send": listen("write")}, ["write", "send"]),
        ({**FOUND, "end": listen("write"), "send": listen("end")}, ["write", "end", "send"]),
        ({"find": start(), "write": listen("find"), "notify": listen("failed")}, ["write"]),
    ],
    ids=["a method at the end", "a longer end", "a method that nothing starts"],
)
@pytest.mark.filterwarnings("ignore:method `notify`")
def test_what_comes_after_the_stop_may_be_edited(mode: Mode, edited: Form, runs: list[str]):
    run = stopped(mode, {**FOUND, "end": listen("write")}, "write")
    assert resumed(mode, edited, run) == runs


def test_a_method_that_has_completed_may_be_removed(mode: Mode):
    form: Form = {"find": start(), "check": listen("find"), "write": listen("check")}
    run = stopped(mode, form, "write")
    assert resumed(mode, FOUND, run) == ["write"]


def test_a_fork_of_an_edited_flow_is_compared_with_its_step(mode: Mode):
    run = stopped(mode, {**FOUND, "end": listen("write")}, "end")
    edited = flow_of({**FOUND, "end": listen("write"), "notify": listen("find")}, ran := [])
    steps = edited.history(run)
    for step in (steps[1], steps[2]):
        with pytest.raises(DefinitionChanged, match="has no result of method `notify`"):
            mode.run(edited.fork, edited.afork, step)
    assert not ran
    mode.run(edited.fork, edited.afork, steps[0])
    assert sorted(ran) == ["end", "find", "notify", "write"]


def test_a_compiled_flow_refuses_as_well(mode: Mode):
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    with pytest.raises(ConnectionError):
        mode.invoke(flow_of(FOUND, [], "write").compile(checkpointer=saver), {}, config)
    for edited, problem in (
        ({**FOUND, "notify": listen("find")}, "continues with method `write`, and has no result of method `notify`"),
        ({"find": start(), "compose": listen("find")}, "continues with method `write`, which the flow does not have"),
    ):
        ran: list[str] = []
        with pytest.raises(DefinitionChanged, match=problem):
            mode.invoke(flow_of(edited, ran).compile(checkpointer=saver), None, config)
        assert not ran
    mode.invoke(flow_of({**FOUND, "send": listen("write")}, ran).compile(checkpointer=saver), None, config)
    assert ran == ["write", "send"]


def test_a_question_of_a_flow_that_was_edited_is_not_answered(mode: Mode):
    ask = human_feedback(message="Right?")
    form: Form = {"find": start(), "check": lambda method: listen("find")(ask(method))}
    flow = flow_of(form, [])
    mode.run(flow.kickoff, flow.kickoff_async)
    edited = flow_of({**form, "notify": listen("find")}, ran := [])
    with pytest.raises(DefinitionChanged, match="continues with method `check`, and has no result of method `notify`"):
        mode.run(edited.resume, edited.aresume, flow.flow_id, "fine")
    assert not ran
    longer = flow_of({**form, "send": listen("check")}, ran)
    mode.run(longer.resume, longer.aresume, flow.flow_id, "fine")
    assert ran == ["send"]


def test_without_the_steps_before_an_edited_flow_is_refused(mode: Mode):
    def kept(form: Form, ran: list[str], failing: str = "") -> Flow[Any]:
        flow = flow_of(form, ran, failing)
        flow.keep_history = "latest"
        return flow

    form: Form = {**FOUND, "end": listen("write")}
    flow = kept(form, [], "end")
    with pytest.raises(ConnectionError):
        mode.run(flow.kickoff, flow.kickoff_async)
    again = kept(form, [], "end")
    with pytest.raises(ConnectionError):
        mode.run(again.resume, again.aresume, flow.flow_id)
    edited = kept({**form, "send": listen("end")}, ran := [])
    with pytest.raises(DefinitionChanged, match=r"has earlier steps that are not stored any more \(`keep_history`\)"):
        mode.run(edited.resume, edited.aresume, flow.flow_id)
    assert not ran


def test_a_flow_inside_a_method_refuses_as_well(mode: Mode):
    def around(form: Form, ran: list[str], failing: str = "") -> Flow[Any]:
        @persist
        class Outer(Flow[Any]):
            @start()
            def go(self) -> Any:
                return class_of(form, ran, failing)().kickoff()

        return Outer()

    flow = around(FOUND, ran := [], "write")
    with pytest.raises(ConnectionError):
        mode.run(flow.kickoff, flow.kickoff_async)
    edited = around({**FOUND, "notify": listen("find")}, ran)
    with pytest.raises(DefinitionChanged, match="has no result of method `notify`"):
        mode.run(edited.resume, edited.aresume, flow.flow_id)
    longer = around({**FOUND, "send": listen("write")}, ran)
    mode.run(longer.resume, longer.aresume, flow.flow_id)
    assert ran == ["find", "write", "send"]


IN_TURN: Form = {
    "find": start(), "route": router("find"), "check": router("find"), "write": listen("find"),
    "end": listen("write"), "publish": listen("ok"), "refuse": listen("no"),
}  # fmt: skip


def test_what_has_its_turn_later_runs_after_a_resume(mode: Mode):
    returns = {"route": "ok", "check": "no"}
    run = stopped(mode, IN_TURN, "check", returns=returns)
    assert resumed(mode, IN_TURN, run, returns=returns) == ["check", "write", "end", "publish", "refuse"]
    run = stopped(mode, IN_TURN, "end", returns=returns)
    assert resumed(mode, IN_TURN, run, returns=returns) == ["end", "publish", "refuse"]
