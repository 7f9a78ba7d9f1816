"""Common mistakes in flows, and their error messages."""

import re
import threading
import warnings
from typing import Any, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Send
from modes import Mode, graph_of
from pydantic import BaseModel
from waiting import LONG

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.errors import DefinitionError, RunError
from crewgraph.flow import Flow, PendingFlow, human_feedback, listen, router, start

from .parts import kickoff, resume


def says(text: str) -> str:
    return f"^{re.escape(text)}$"


def test_decorators_without_brackets_are_reported(mode: Mode):
    class Open(Flow[Any]):
        @start
        def first(self) -> None: ...

        @listen
        def second(self) -> None: ...

        @router
        def third(self) -> None: ...

        @human_feedback  # pyright: ignore[reportArgumentType]
        def fourth(self) -> None: ...

    expected = "\n".join(
        f"method `{name}` of flow `Open` is decorated without brackets. Write `{written}`."
        for name, written in (
            ("first", "@start()"), ("second", "@listen(...)"), ("third", "@router(...)"),
            ("fourth", "@human_feedback(...)"),
        )
    )  # fmt: skip
    with pytest.raises(DefinitionError, match=says(expected)):
        kickoff(mode, Open())

    class Closed(Open):
        @start()
        def first(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
            return "done"

        second = third = fourth = None  # pyright: ignore[reportAssignmentType]

    assert kickoff(mode, Closed()) == "done"


@pytest.mark.parametrize("name", ["kickoff", "state", "flow_id"])
def test_a_method_may_not_have_the_name_of_what_flows_are_run_by(name: str):
    def first(self: Any) -> None: ...

    with pytest.raises(DefinitionError, match=f"method `{name}` of flow `Hides` has a name that every flow needs"):
        type("Hides", (Flow,), {name: start()(first)})


def test_verbs_that_runs_do_without_may_be_methods(mode: Mode):
    class Report(Flow[Any]):
        @start()
        def history(self) -> str:  # type: ignore[override]
            return "long ago"

        @listen("history")
        def compile(self, reported: str) -> str:  # type: ignore[override]
            return f"compiled: {reported}"

    assert kickoff(mode, Report()) == "compiled: long ago"


def test_an_init_that_forgets_its_base_is_reported(mode: Mode):
    class Bare(Flow[Any]):
        def __init__(self) -> None:
            self.client = "a client"

        @start()
        def first(self) -> None: ...

    with pytest.raises(DefinitionError, match=r"`__init__` of flow `Bare` does not call `super\(\).__init__\(\)`"):
        kickoff(mode, Bare())


class Sized(BaseModel):
    size: int = 0


class Fits(Flow[Sized]):
    @start()
    def first(self, colour: str = "red") -> str:
        return f"{self.state.size} {colour}"


def test_inputs_that_lead_nowhere_are_reported(mode: Mode):
    reported = (
        "the input `sise` is neither a field of the state `Sized` of flow `Fits` nor a parameter of a method. "
        "Did you mean `size`?"
    )
    with pytest.warns(UserWarning, match=says(reported)):
        assert kickoff(mode, Fits(), {"sise": 3}) == "0 red"
    with pytest.raises(RunError, match=says(reported)):  # nobody reads warnings of a server
        mode.invoke(Fits().compile(), {"inputs": {"sise": 3}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kickoff(mode, Fits(), {"size": 3, "colour": "blue", "id": "mine"}) == "3 blue"


@pytest.mark.parametrize("inputs", ["size", ["size"], 5])
def test_inputs_that_are_no_dict_are_refused(mode: Mode, inputs: Any):
    with pytest.raises(TypeError, match="`inputs` is .*; pass a dict of names and values"):
        kickoff(mode, Fits(), inputs)


class Two(Flow[Any]):
    started = threading.Barrier(2, timeout=LONG)

    @start()
    def one(self) -> None:
        self.started.wait()
        raise ValueError("the first")

    @start()
    def other(self) -> None:
        self.started.wait()
        raise KeyError("the second")


def test_a_second_method_that_failed_is_reported_with_the_first(mode: Mode):
    with pytest.raises(ValueError, match="the first") as failure:
        kickoff(mode, Two())
    assert failure.value.__notes__[:2] == [
        "in method `one` of flow `Two`",
        "method `other` failed, too: KeyError: 'the second'",
    ]


def test_continuing_with_a_run_that_was_never_kept_says_so(mode: Mode):
    flow = Two()
    with pytest.raises(ValueError, match="the first"):
        kickoff(mode, flow)
    for looked in (lambda: resume(mode, flow, flow.flow_id), lambda: mode.run(flow.history, flow.ahistory)):
        with pytest.raises(RunError, match="Its runs are not stored: decorate it with `@persist`"):
            looked()


class Asks(Flow[Any]):
    @start()
    @human_feedback("Good?", emit=["yes", "no"])
    def draft(self) -> str:
        return "a draft"

    @listen("yes")
    def post(self) -> str:
        return "posted"


class Others(Asks):
    pass


def test_a_run_of_another_flow_is_not_taken_for_one_of_this(mode: Mode):
    saver = InMemorySaver()
    waiting = kickoff(mode, Asks(checkpointer=saver))
    for method in (
        lambda: resume(mode, Others(checkpointer=saver), waiting.flow_id, "yes"),
        lambda: kickoff(mode, Others(checkpointer=saver), {"id": waiting.flow_id}),
    ):
        with pytest.raises(RunError, match="is an unfinished run of flow `Asks`, which flow `Others` cannot resume"):
            method()
    assert resume(mode, Asks(checkpointer=saver), waiting.flow_id, "yes") == "posted"
    clerk = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(["done"]))
    task = Task(name="t", description="d", expected_output="e", agent=clerk)
    Crew(name="desk", agents=[clerk], tasks=[task], checkpointer=saver).kickoff(thread_id="crew's")
    with pytest.raises(RunError, match="thread `crew's` holds a run of crew `desk`, not of flow `Asks`"):
        resume(mode, Asks(checkpointer=saver), "crew's")


def test_answers_to_questions_that_nobody_asked_are_refused(mode: Mode):
    saver = InMemorySaver()
    waiting = kickoff(mode, Asks(checkpointer=saver))
    with pytest.raises(
        RunError, match="waits for answers to `draft#1:feedback`, but the given answers are for `draft`"
    ):
        resume(mode, Asks(checkpointer=saver), waiting.flow_id, {"draft": "yes"})
    assert resume(mode, Asks(checkpointer=saver), waiting.flow_id, {waiting.questions[0].id: "yes"}) == "posted"


def test_a_run_that_waits_tells_what_may_be_answered_and_that_an_answer_was_refused(mode: Mode):
    saver = InMemorySaver()
    waiting = kickoff(mode, Asks(checkpointer=saver))
    reported = "flow `Asks` waits for an answer: `draft` asks `Good?` (yes / no). "
    reported += f"Answer with `resume('{waiting.flow_id}', ...)`."
    assert str(waiting) == reported
    still = resume(mode, Asks(checkpointer=saver), waiting.flow_id, "perhaps")
    assert isinstance(still, PendingFlow)
    assert "asks `Good?` (yes / no) again, because the last answer could not be used. Answer with" in str(still)
    assert "the answer 'perhaps' to method `draft` is none of `yes`, `no`" in str(still.questions[0].refused)


@pytest.mark.parametrize(
    "command",
    [
        Command(graph=Command.PARENT, goto="after"), Command(goto="second"), Send("second", None),
        [Send("second", 1), Send("second", 2)],
    ],
    ids=["to the graph around", "to a method", "send", "sends"],
)  # fmt: skip
def test_a_method_that_returns_a_command_to_a_graph_is_told_how_flows_go_on(mode: Mode, command: Any):
    calls: list[str] = []

    class Steering(Flow[Any]):
        @start()
        def first(self) -> str:
            return "first"

        @router(first)
        def steer(self) -> Any:
            return command

        @listen(steer)
        def second(self) -> None:
            calls.append("second")

    class Alone(Flow[Any]):
        @start()
        async def steer(self) -> Any:
            return command

    message = r"^method `steer` of flow `\w+` returned a LangGraph `(Command|Send)`, but a flow goes on by its triggers"
    for flow in (Steering, Alone):
        with pytest.raises(RunError, match=message):
            kickoff(mode, flow(checkpointer=False))
        with pytest.raises(RunError, match=message):
            mode.invoke(flow().compile(checkpointer=InMemorySaver()), {}, {"configurable": {"thread_id": "t"}})
    assert calls == []


def _leave(_: Any) -> Any:
    return Command(graph=Command.PARENT, goto="after")


def _leaving() -> Any:
    return graph_of(cast("Any", dict), {"leave": _leave})


def test_a_graph_inside_a_method_that_leaves_for_the_graph_around_it_ends_no_flow_silently(mode: Mode):
    calls: list[str] = []

    class Holding(Flow[Any]):
        @start()
        def first(self) -> Any:
            return _leaving().invoke({}) if not calls else "data"

        @listen(first)
        def second(self, given: str) -> str:
            return given

    saver, config = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    message = r"^a graph inside method `first` of flow `Holding` returned a `Command` for the graph around it \(goto='after'\)"
    with pytest.raises(RunError, match=message):
        mode.invoke(Holding().compile(checkpointer=saver), {}, config)
    calls.append("mended")
    assert mode.invoke(Holding().compile(checkpointer=saver), None, config)["output"] == "data"
