"""What listeners hear of flows: which events, in which order, with what in them."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from pydantic import BaseModel

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.events import (
    BaseEvent,
    FlowFailedEvent,
    FlowFinishedEvent,
    FlowInputReceivedEvent,
    FlowInputRequestedEvent,
    FlowPausedEvent,
    FlowPlotEvent,
    FlowStartedEvent,
    HumanFeedbackReceivedEvent,
    HumanFeedbackRequestedEvent,
    MethodExecutionFailedEvent,
    MethodExecutionFinishedEvent,
    MethodExecutionPausedEvent,
    MethodExecutionStartedEvent,
)
from crewgraph.flow import Flow, human_feedback, listen, router, start
from crewgraph.hooks import HookAborted, InterceptionPoint, scoped_hooks
from crewgraph.testing import record_events

from .parts import kickoff, resume


@pytest.fixture
def events() -> Iterator[list[BaseEvent]]:
    with record_events() as found:
        yield found


def of(kind: type[Any], events: list[BaseEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


class Post(Flow[dict[str, Any]]):
    @start()
    def first(self, q: int) -> str:
        self.state["x"] = 1
        return "A"

    @listen(first)
    def write(self, got: str) -> str:
        clerk = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(["poem"]))
        return Crew(agents=[clerk], tasks=[Task(description="d", expected_output="e", agent=clerk)]).kickoff().raw

    @router(write)
    def judge(self, got: str) -> str:
        self.state["x"] = 2
        return "go"

    @listen("go")
    async def end(self, label: str) -> str:
        return label


def test_a_run_with_a_crew_in_a_method_is_told_in_order(mode: Mode, events: list[BaseEvent]):
    kickoff(mode, Post(), {"q": 1})
    kinds = [event.type for event in events if event.type.split("_")[0] in ("flow", "method", "crew", "task")]
    assert kinds == [
        *("flow_created", "flow_started", "method_execution_started", "method_execution_finished"),
        *("method_execution_started", "crew_kickoff_started", "task_started", "task_completed"),
        *("crew_kickoff_completed", "method_execution_finished"),
        *("method_execution_started", "method_execution_finished") * 2,
        "flow_finished",
    ]


def test_the_fields_are_filled_as_crewai_fills_them(mode: Mode, events: list[BaseEvent]):
    flow = Post()
    kickoff(mode, flow, {"q": 1})
    assert {event.flow_name for event in of(BaseEvent, events) if event.type.startswith(("flow", "method"))} == {"Post"}
    started = of(FlowStartedEvent, events)[0]
    assert (started.inputs, started.flow_id) == ({"q": 1}, flow.flow_id)
    has_started = of(MethodExecutionStartedEvent, events)
    assert [(event.method_name, event.params, event.state.get("x")) for event in has_started] == [
        ("first", {"q": 1}, None), ("write", {"_0": "A"}, 1), ("judge", {"_0": "poem"}, 1),
        ("end", {"_0": "go"}, 2),
    ]  # fmt: skip
    assert [event.execution for event in has_started] == ["first#1", "write#1", "judge#1", "end#1"]
    ended = of(MethodExecutionFinishedEvent, events)
    assert [(event.method_name, event.result, event.state["x"]) for event in ended] == [
        *(("first", "A", 1), ("write", "poem", 1), ("judge", "go", 2), ("end", "go", 2))
    ]
    finished = of(FlowFinishedEvent, events)[0]
    assert (finished.result, finished.state) == ("go", {"id": flow.flow_id, "q": 1, "x": 2})
    for event in events:
        event.to_json()


def test_a_run_without_inputs_says_so(mode: Mode, events: list[BaseEvent]):
    class Plain(Flow[dict[str, Any]]):
        name = "given"

        @start()
        def a(self) -> None:
            pass

    kickoff(mode, Plain())
    assert (of(FlowStartedEvent, events)[0].inputs, of(FlowStartedEvent, events)[0].flow_name) == (None, "given")
    assert of(MethodExecutionStartedEvent, events)[0].params == {}


class Seen(BaseModel):
    notes: list[str] = []


def test_the_state_of_an_event_stays_what_it_was(mode: Mode, events: list[BaseEvent]):
    class Typed(Flow[Seen]):
        @start()
        def a(self) -> None:
            self.state.notes.append("a")

        @listen(a)
        def b(self) -> None:
            self.state.notes.append("b")

    kickoff(mode, Typed())
    seen = [event.state for event in of(MethodExecutionFinishedEvent, events)]
    assert [state.notes for state in seen] == [state["notes"] for state in seen] == [["a"], ["a", "b"]]
    assert all(json.loads(json.dumps(state)) == copy.deepcopy(state) == {**state} for state in seen)


def test_a_failure_is_reported_for_the_method_and_the_flow(mode: Mode, events: list[BaseEvent]):
    class Fails(Flow[dict[str, Any]]):
        @start()
        def a(self) -> None:
            raise ValueError("boom")

        @start()
        def b(self) -> str:
            return "b"

    with pytest.raises(ValueError, match="boom") as caught:
        kickoff(mode, Fails())
    assert [(event.method_name, event.error) for event in of(MethodExecutionFailedEvent, events)] == [
        ("a", caught.value)
    ]
    assert events[-1].type == "flow_failed"
    assert of(FlowFailedEvent, events)[0].error is caught.value


def test_an_object_is_reported_when_it_is_made_and_when_it_is_drawn(events: list[BaseEvent], tmp_path: Any):
    flow = Post()
    flow.plot(tmp_path / "x")
    assert [event.type for event in events] == ["flow_created", "flow_plot"]
    assert of(FlowPlotEvent, events)[0].flow_name == "Post"


def test_a_flow_with_suppressed_events_reports_its_start_and_its_end(mode: Mode, events: list[BaseEvent]):
    class Silent(Post):
        suppress_flow_events = True

    kickoff(mode, Silent(), {"q": 1})
    kickoff(mode, Post(suppress_flow_events=True), {"q": 1})
    seen = [event.type for event in events if event.type.startswith(("flow", "method"))]
    assert seen == ["flow_started", "flow_finished"] * 2


class Draft(Flow[dict[str, Any]]):
    @start()
    def idea(self) -> str:
        return "an idea"

    @listen(idea)
    @human_feedback("Good?", emit=["yes", "no"])
    def write(self) -> str:
        return "a draft"

    @listen("yes")
    def send(self) -> str:
        return "sent"


def kinds(events: list[BaseEvent]) -> list[str]:
    return [event.type for event in events]


def test_a_question_about_an_output_is_told_until_the_run_continues(mode: Mode, events: list[BaseEvent]):
    flow = Draft(checkpointer=InMemorySaver())
    kickoff(mode, flow)
    assert kinds(events)[-4:] == [
        *("method_execution_started", "human_feedback_requested", "method_execution_paused", "flow_paused")
    ]
    asked = of(HumanFeedbackRequestedEvent, events)[0]
    assert (asked.method_name, asked.output, asked.message, asked.emit) == ("write", "a draft", "Good?", ["yes", "no"])
    parked, paused = of(MethodExecutionPausedEvent, events)[0], of(FlowPausedEvent, events)[0]
    for event in (parked, paused):
        assert (event.method_name, event.flow_id, event.message) == ("write", flow.flow_id, "Good?")
        assert (event.emit, event.state) == (["yes", "no"], {"id": flow.flow_id})
    assert (parked.execution, parked.question.id) == ("write#1", asked.request_id)
    events.clear()
    resume(mode, flow, flow.flow_id, "yes")
    assert kinds(events) == [
        *("flow_started", "method_execution_started", "human_feedback_received", "method_execution_finished"),
        *("method_execution_started", "method_execution_finished", "flow_finished"),
    ]
    said = of(HumanFeedbackReceivedEvent, events)[0]
    assert (said.method_name, said.feedback, said.outcome, said.request_id) == ("write", "yes", "yes", asked.request_id)
    assert of(MethodExecutionFinishedEvent, events)[0].result == "yes"
    assert (of(FlowStartedEvent, events)[0].inputs, of(FlowStartedEvent, events)[0].flow_id) == (None, flow.flow_id)


def test_a_method_that_asks_tells_what_and_what_it_was_told(mode: Mode, events: list[BaseEvent]):
    class Asks(Flow[dict[str, Any]]):
        @start()
        def greet(self) -> str:
            return f"hello {self.ask('Who?', metadata={'n': 1})}"

    flow = Asks(checkpointer=InMemorySaver())
    kickoff(mode, flow)
    asked = of(FlowInputRequestedEvent, events)[0]
    assert (asked.method_name, asked.message, asked.metadata) == ("greet", "Who?", {"n": 1})
    assert of(FlowPausedEvent, events)[0].emit is None
    events.clear()
    resume(mode, flow, flow.flow_id, "Anna")
    said = of(FlowInputReceivedEvent, events)[0]
    assert (said.method_name, said.message, said.response, said.metadata) == ("greet", "Who?", "Anna", {"n": 1})
    assert of(FlowInputRequestedEvent, events) == []


class Triggered(Flow[dict[str, Any]]):
    @start()
    def sync(self, crewai_trigger_payload: dict[str, Any] | None = None) -> Any:
        return crewai_trigger_payload

    @start()
    async def later(self, crewai_trigger_payload: dict[str, Any] | None = None) -> Any:
        return crewai_trigger_payload

    @start()
    def other(self) -> str:
        return "nothing"

    @listen(sync)
    def after(self, crewai_trigger_payload: Any) -> Any:
        return ("after", crewai_trigger_payload)


def test_what_started_a_run_reaches_the_start_methods_that_take_it(mode: Mode, events: list[BaseEvent]):
    kickoff(mode, Triggered(), {"crewai_trigger_payload": {"k": 1}})
    given = {event.method_name: event.result for event in of(MethodExecutionFinishedEvent, events)}
    assert given == {"sync": {"k": 1}, "later": {"k": 1}, "other": "nothing", "after": ("after", {"k": 1})}


def test_without_one_the_defaults_stand(mode: Mode, events: list[BaseEvent]):
    kickoff(mode, Triggered())
    given = {event.method_name: event.result for event in of(MethodExecutionFinishedEvent, events)}
    assert given == {"sync": None, "later": None, "other": "nothing", "after": ("after", None)}


def test_it_and_the_other_inputs_are_there_after_a_crash(mode: Mode):
    down = [True]

    class Trip(Flow[Seen]):
        @start()
        def a(self, topic: str, crewai_trigger_payload: Any = None) -> Any:
            if down:
                raise OSError("down")
            return topic, crewai_trigger_payload

    flow = Trip(checkpointer=InMemorySaver())
    with pytest.raises(OSError, match="down"):
        kickoff(mode, flow, {"topic": "tides", "crewai_trigger_payload": {"k": 1}})
    down.clear()
    assert resume(mode, flow, flow.flow_id) == ("tides", {"k": 1})


@pytest.mark.parametrize("point", [InterceptionPoint.EXECUTION_START, InterceptionPoint.INPUT])
def test_a_run_that_a_hook_does_not_let_begin_has_started_and_failed(
    mode: Mode, events: list[BaseEvent], point: InterceptionPoint
):
    flow = Draft(checkpointer=False)
    events.clear()

    def refuse(context: object) -> None:
        raise HookAborted("not now")

    with scoped_hooks({point: [refuse]}), pytest.raises(HookAborted, match="not now"):
        kickoff(mode, flow, {"id": "a"})
    assert [kind for kind in kinds(events) if kind != "hook_dispatched"] == ["flow_started", "flow_failed"]
    started, failed = of(FlowStartedEvent, events)[0], of(FlowFailedEvent, events)[0]
    assert (started.flow_id, failed.parent_event_id, failed.started_event_id) == ("a", None, started.event_id)
    assert isinstance(failed.error, HookAborted)


def test_a_result_that_a_hook_does_not_let_out_is_a_failure_and_one_that_it_changes_is_reported(
    mode: Mode, events: list[BaseEvent]
):
    class One(Flow[dict[str, Any]]):
        @start()
        def a(self) -> int:
            return 1

    def change(context: Any) -> None:
        context.payload = 2

    def refuse(context: Any) -> None:
        raise HookAborted("not out")

    with scoped_hooks({InterceptionPoint.OUTPUT: [change]}):
        assert kickoff(mode, One()) == 2
    assert [event.result for event in of(FlowFinishedEvent, events)] == [2]
    events.clear()
    with scoped_hooks({InterceptionPoint.OUTPUT: [refuse]}), pytest.raises(HookAborted, match="not out"):
        kickoff(mode, One())
    assert of(FlowFailedEvent, events) and not of(FlowFinishedEvent, events)


class Counting(BaseModel):
    n: int = 0


@pytest.mark.parametrize("fails", ["inputs", "method", "end"])
def test_the_hooks_of_an_end_see_each_failure_once(mode: Mode, fails: str):
    ends: list[tuple[str, str]] = []

    class Failing(Flow[Counting]):
        @start()
        def a(self) -> None:
            if fails == "method":
                raise ValueError("at the method")

    def ended(context: Any) -> None:
        ends.append((context.status, str(context.error or "")))
        if fails == "end":
            raise HookAborted("at the end")

    with scoped_hooks({InterceptionPoint.EXECUTION_END: [ended]}), pytest.raises((ValueError, HookAborted)):
        kickoff(mode, Failing(), {"n": "many"} if fails == "inputs" else None)
    assert len(ends) == 1
    assert ends[0][0] == ("completed" if fails == "end" else "failed")
