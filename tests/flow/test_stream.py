"""`flow.stream` and `flow.astream`: the items of a run, their order and timing, and abandoned streams."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any, TypeVar

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from modes import Mode
from servers.openai_api import OpenAIServer, call
from waiting import LONG, wait_until

import crewgraph.flow
from crewgraph import (
    LLM,
    Agent,
    Crew,
    Custom,
    ModelFinished,
    ScriptedLLM,
    StreamItem,
    Task,
    TaskItem,
    Token,
    ToolFinished,
)
from crewgraph.definitions import stream as item_classes
from crewgraph.events import MethodExecutionStartedEvent
from crewgraph.events.frames import AsyncStreamSession, StreamFrame, StreamSession
from crewgraph.events.stream_context import LISTENING
from crewgraph.flow import (
    Asked,
    CrewFailed,
    Flow,
    FlowFinished,
    FlowPaused,
    FlowStarted,
    MethodFailed,
    MethodFinished,
    MethodStarted,
    and_,
    human_feedback,
    listen,
    persist,
    router,
    start,
)
from crewgraph.testing import record_events
from crewgraph.tools import tool

from .parts import kickoff, resume, stream_items

Serve = Callable[[Any], OpenAIServer]
T = TypeVar("T", bound=StreamItem)


def of(kind: type[T], items: Iterable[StreamItem]) -> list[T]:
    return [item for item in items if isinstance(item, kind)]


def team(name: str, llm: Any, role: str = "{what} clerk", **more: Any) -> Crew:
    clerk = Agent(role=role, goal="g", backstory="b", llm=llm, max_retry_limit=0, **more)
    return Crew(
        name=name, agents=[clerk], tasks=[Task(name="look", description="{what}?", expected_output="e", agent=clerk)]
    )


def writes(text: str) -> ScriptedLLM:
    return ScriptedLLM([text], stream=True, repeat_last=True)


class Plain(Flow[dict[str, Any]]):
    @start()
    def first(self, n: int) -> int:
        return n + 1

    @router(first)
    def way(self, n: int) -> str:
        return "on" if n < 9 else "off"

    @listen("on")
    def last(self, label: str) -> str:
        return f"went {label}"


@pytest.mark.parametrize("stored", [True, False])
def test_run_is_streamed_in_order_from_start_to_result(mode: Mode, stored: bool):
    flow = Plain(checkpointer=InMemorySaver() if stored else None)
    items = list(stream_items(mode, flow, {"n": 1, "id": "mine"} if not stored else {"n": 1}))
    assert items == [
        FlowStarted(flow="Plain", flow_id=flow.flow_id, inputs={"n": 1} if stored else {"n": 1, "id": "mine"}),
        MethodStarted(method="first", execution="first#1", params={"n": 1}),
        MethodFinished(method="first", execution="first#1", result=2),
        MethodStarted(method="way", execution="way#1", params={"_0": 2}),
        MethodFinished(method="way", execution="way#1", result="on"),
        MethodStarted(method="last", execution="last#1", params={"_0": "on"}),
        MethodFinished(method="last", execution="last#1", result="went on"),
        FlowFinished(result="went on"),
    ]


def test_each_execution_of_a_loop_has_its_number(mode: Mode):
    class Loop(Flow[dict[str, Any]]):
        @start("again")
        def step(self) -> None:
            self.state["n"] = self.state.get("n", 0) + 1

        @router(step)
        def enough(self) -> str:
            return "again" if self.state["n"] < 3 else "done"

    executions = [item.execution for item in of(MethodStarted, stream_items(mode, Loop()))]
    assert executions == ["step#1", "enough#1", "step#2", "enough#2", "step#3", "enough#3"]


class Both(Flow[dict[str, Any]]):
    @start()
    def sea(self) -> str:
        return team("tides", writes("high tide")).kickoff({"what": "sea"}).raw

    @start()
    async def moon(self) -> str:
        return (await team("phases", writes("full moon")).akickoff({"what": "moon"})).raw

    @listen(and_(sea, moon))
    def end(self) -> str:
        return "both"


def test_tools_agents_and_models_in_methods_are_streamed(mode: Mode, serve: Serve):
    @tool
    def look(what: str) -> str:
        """Look something up."""
        return f"the {what} is high"

    server = serve([call("look", {"what": "sea"}), "it is", "a word"])
    llm = LLM("openai/test", base_url=server.url, api_key="key", max_retries=0)
    solo = Agent(role="Solo", goal="g", backstory="b", llm=llm, tools=[look])

    class Asks(Flow[dict[str, Any]]):
        @start()
        def agent(self) -> str:
            return solo.kickoff("How is the sea?").raw

        @listen(agent)
        def model(self) -> str:
            return llm.call("Say it in a word")

    items = list(stream_items(mode, Asks()))
    by_method = {name: [item for item in of(TaskItem, items) if item.method == name] for name in ("agent", "model")}
    assert {(item.task, item.agent) for item in by_method["agent"]} == {("", "Solo")}
    assert [item.output for item in of(ToolFinished, by_method["agent"])] == ["the sea is high"]
    assert "".join(item.text for item in of(Token, by_method["agent"])) == "it is"
    assert [item.kind for item in by_method["model"]] == ["model_started", "token", "token", "model_finished"]
    assert {(item.task, item.agent) for item in by_method["model"]} == {("", "")}
    assert of(ModelFinished, by_method["model"])[0].text == "a word"


def test_nested_flow_is_streamed_below_its_method(mode: Mode):
    class Inner(Flow[dict[str, Any]]):
        @start()
        def draft(self) -> str:
            return team("deep", writes("x")).kickoff({"what": "sea"}).raw

    class Outer(Flow[dict[str, Any]]):
        @start()
        def write(self) -> str:
            return Inner().kickoff()

        @listen(write)
        async def again(self) -> str:
            return await Inner().kickoff_async()

    items = list(stream_items(mode, Outer()))
    assert [(item.method, item.execution) for item in of(MethodStarted, items)] == [
        *(("write", "write#1"), ("draft", "write#1/draft#1")),
        *(("again", "again#1"), ("draft", "again#1/draft#1")),
    ]
    assert {item.execution for item in of(Token, items)} == {"write#1/draft#1", "again#1/draft#1"}
    assert (len(of(FlowStarted, items)), len(of(FlowFinished, items))) == (1, 1)


def test_items_are_there_while_the_method_still_runs(mode: Mode):
    goes_on = threading.Event()

    class Slow(Flow[dict[str, Any]]):
        @start()
        def a(self) -> bool:
            return goes_on.wait(LONG)

        @start()
        def b(self) -> bool:
            get_stream_writer()({"half": "done"})
            return goes_on.wait(LONG)

    kinds: list[str] = []
    for item in stream_items(mode, Slow()):
        kinds.append(item.kind)
        if isinstance(item, Custom):
            assert item.data == {"half": "done"}
            goes_on.set()
    assert kinds == [
        *("flow_started", "method_started", "method_started", "custom", "method_finished", "method_finished"),
        "flow_finished",
    ]


def test_nothing_runs_before_the_first_item_is_requested(mode: Mode):
    done: list[str] = []

    class One(Flow[dict[str, Any]]):
        @start()
        def a(self) -> None:
            done.append("a")

    items = stream_items(mode, One())
    assert done == []
    assert isinstance(next(items), FlowStarted)
    assert [item.kind for item in items] == ["method_started", "method_finished", "flow_finished"]


def test_a_flow_whose_events_are_suppressed_streams_all_the_same(mode: Mode):
    with record_events() as events:
        items = list(stream_items(mode, Plain(suppress_flow_events=True), {"n": 1}))
    assert len(items) == 8
    assert [event.type for event in events] == ["flow_started", "flow_finished"]


def test_crew_stream_in_a_method_reaches_both_readers(mode: Mode):
    inner: list[StreamItem] = []

    class Outer(Flow[dict[str, Any]]):
        @start()
        def relay(self) -> None:
            inner.extend(team("tides", writes("high tide")).stream({"what": "sea"}))

    items = list(stream_items(mode, Outer()))
    for read in (inner, items):
        assert [item.text for item in of(Token, read)] == ["high", " tide"]
    assert {item.method for item in of(Token, inner)} == {None}


def test_what_a_method_raises_comes_behind_the_items_of_what_was_done(mode: Mode):
    class Fails(Flow[dict[str, Any]]):
        @start()
        def a(self) -> str:
            return "fine"

        @listen(a)
        def b(self) -> str:
            return team("broken", ScriptedLLM([ConnectionError("down")])).kickoff({"what": "x"}).raw

    items: list[StreamItem] = []
    with pytest.raises(ConnectionError, match="down"):
        for item in stream_items(mode, Fails()):
            items.append(item)
    failed = of(MethodFailed, items)
    assert [(item.execution, item.error) for item in failed] == [("b#1", "ConnectionError: down")]
    assert items[-1] is failed[0]
    assert len(of(CrewFailed, items)) == 1


def test_faults_are_raised_before_any_item(mode: Mode):
    class Nothing(Flow[dict[str, Any]]):
        pass

    with pytest.raises(ValueError, match="no `@start"):
        list(stream_items(mode, Nothing()))


def test_question_is_an_item_and_its_answer_resumes_in_another_stream(mode: Mode):
    saver = InMemorySaver()

    class Draft(Flow[dict[str, Any]]):
        checkpointer = saver

        @start()
        @human_feedback("Good enough?", emit=["yes", "no"])
        def write(self) -> str:
            return "a draft"

        @listen("yes")
        def send(self) -> str:
            return "sent"

    draft = Draft()
    items = list(stream_items(mode, draft))
    assert [item.kind for item in items] == ["flow_started", "method_started", "asked", "flow_paused"]
    question = of(Asked, items)[0]
    assert (question.execution, question.question.message, question.question.output) == (
        "write#1",
        "Good enough?",
        "a draft",
    )
    assert question.question.outcomes == ("yes", "no")
    assert of(FlowPaused, items)[0].pending.flow_id == draft.flow_id
    assert of(FlowPaused, items)[0].pending.questions[0].id == question.question.id
    waits = list(stream_items(mode, Draft(), {"id": draft.flow_id}))
    assert [item.kind for item in waits] == ["flow_paused"]
    gone_on = list(stream_items(mode, Draft(), {"id": draft.flow_id}, feedback="yes"))
    assert [item.method for item in of(MethodFinished, gone_on)] == ["write", "send"]
    assert gone_on[-1] == FlowFinished(result="sent")


def test_an_answer_needs_the_run_that_waits_for_it(mode: Mode):
    with pytest.raises(RuntimeError, match="needs the run that waits"):
        list(stream_items(mode, Plain(), {"n": 1}, feedback="yes"))


class Chain(Flow[dict[str, Any]]):
    done: list[str]
    under_way = 0

    @start()
    def a(self) -> str:
        self.done.append("a")
        return "A"

    @listen(a)
    def b(self, got: str) -> str:
        self.under_way += 1
        time.sleep(0.2)
        self.done.append("b")
        self.under_way -= 1
        return got + "B"

    @listen(b)
    def c(self, got: str) -> str:
        self.done.append("c")
        return got + "C"


def chain() -> Chain:
    flow = Chain(checkpointer=InMemorySaver())
    flow.done = []
    return flow


def left_at(items: Any, kind: type[StreamItem], times: int = 1) -> None:
    with closing(items):
        for item in items:
            times -= isinstance(item, kind)
            if not times:
                break


def test_finished_work_is_stored_and_pending_work_does_not_begin(mode: Mode):
    flow = chain()
    left_at(stream_items(mode, flow), MethodStarted, times=2)
    time.sleep(0.3)  # in an async run, a blocking method goes on in its thread, unheard
    wait_until(lambda: not flow.under_way)
    assert flow.done in (["a"], ["a", "b"])
    flow_id = flow.flow_id
    assert resume(mode, flow, flow_id) == "ABC"
    assert (flow.done.count("a"), flow.done.count("c")) == (1, 1)


def test_leaving_before_the_first_item_is_fine(mode: Mode):
    flow = chain()
    left_at(stream_items(mode, flow), FlowStarted)
    assert flow.done == []


def test_nothing_of_the_stream_stays_in_the_readers_context(mode: Mode):
    items: Any = stream_items(mode, chain())
    for item in items:
        assert LISTENING.get().sinks == ()
        if isinstance(item, MethodFinished):
            break
    items.close()
    assert LISTENING.get().sinks == ()


def test_every_item_is_json_and_is_in_the_package():
    sent = [json.loads(json.dumps(item.to_dict())) for item in Both().stream()]
    assert sent[-1] == {"kind": "flow_finished", "result": "both"}
    finished = next(message for message in sent if message["kind"] == "crew_finished")
    assert finished["output"]["raw"] in ("high tide", "full moon")
    names = [name for name in item_classes.__all__ if name not in crewgraph.__all__]
    classes = [getattr(crewgraph.flow, name) for name in names]
    assert len({one.kind for one in classes}) == len(classes)


def started(mode: Mode, flow: "Flow[Any]", **inputs: Any) -> tuple[Any, Callable[[], list[StreamFrame]]]:
    if not mode.asynchronous:
        output: Any = flow.kickoff(**inputs)
        return output, lambda: list(output)

    async def all_of(output: Any) -> list[StreamFrame]:
        return [frame async for frame in output]

    later: Any = asyncio.run(flow.kickoff_async(**inputs))
    return later, lambda: asyncio.run(all_of(later))


def test_a_flow_that_streams_gives_a_frame_for_each_event_and_its_result_behind_them(mode: Mode):
    output, frames_of = started(mode, Both(stream=True))
    assert isinstance(output, StreamSession | AsyncStreamSession)
    with pytest.raises(RuntimeError, match="take all frames"):
        assert output.result
    frames = frames_of()
    pieces = sorted(frame.content for frame in frames if frame.type == "llm_stream_chunk")
    assert pieces == [" moon", " tide", "full", "high"]
    assert (frames[0].type, frames[-1].type) == ("flow_started", "flow_finished")
    assert (output.result, output.is_completed, output.is_cancelled) == ("both", True, False)


def test_streaming_is_switched_on_the_class_the_object_or_in_the_call(mode: Mode):
    class Always(Plain):
        stream = True  # type: ignore[assignment]

    flow = Plain()
    flow.stream = True  # pyright: ignore[reportAttributeAccessIssue]
    for one in (Always(), flow, Plain(stream=True)):
        output, frames_of = started(mode, one, n=1)
        assert [frame.type for frame in frames_of()][:2] == ["flow_started", "method_execution_started"]
        assert output.result == "went on"
        assert of(FlowFinished, stream_items(mode, one, {"n": 1}))[0].result == "went on"
    flow.stream = False  # pyright: ignore[reportAttributeAccessIssue]
    assert kickoff(mode, flow, {"n": 1}) == "went on"


def test_a_closed_output_ends_the_run_which_can_be_resumed():
    class Writes(Flow[dict[str, Any]]):
        @start()
        def write(self) -> str:
            return team("writers", ScriptedLLM(["one two", "three"], stream=True)).kickoff({"what": "x"}).raw

    flow = Writes(stream=True, checkpointer=InMemorySaver())
    with flow.kickoff() as output:
        assert next(frame for frame in output if frame.type == "llm_stream_chunk").content == "one"
    assert (output.is_cancelled, list(output)) == (True, [])
    with pytest.raises(RuntimeError, match="ended before the run"):
        _ = output.result
    assert flow.resume(flow.flow_id) == "one two"

    async def read() -> Any:
        later: Any = await Writes(stream=True).kickoff_async()
        async with later:
            async for _ in later:
                break
        return later

    assert asyncio.run(read()).is_cancelled


def test_a_run_that_waits_is_the_result_of_its_stream(mode: Mode):
    @persist
    class Asks(Flow[dict[str, Any]]):
        @start()
        def ask_them(self) -> str:
            return self.ask("Who?")

    output, chunks_of = started(mode, Asks(stream=True))
    chunks_of()
    assert output.result.questions[0].message == "Who?"
    assert resume(mode, Asks(), output.result.flow_id, "Anna") == "Anna"


def test_a_method_of_a_flow_begins_once_although_somebody_reads(mode: Mode):
    with record_events() as events:
        list(stream_items(mode, Both()))
    has_started = [event.method_name for event in events if isinstance(event, MethodExecutionStartedEvent)]
    assert sorted(has_started) == ["end", "moon", "sea"]


def test_a_reader_who_leaves_has_waited_for_the_run_when_the_stream_is_closed():
    """Closing the stream closes the graph below it; left to the garbage collector, that went on beside whatever came next."""
    ended: list[str] = []

    class Slow(Flow[dict[str, Any]]):
        @start()
        async def first(self) -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(0.05)  # what it has to tidy up
                ended.append("first")
                raise

        @start()
        def second(self) -> None:
            return None

    async def left() -> list[str]:
        items = Slow().astream()
        async for item in items:
            if item.kind == "method_finished":
                break
        await items.aclose()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        return [str(task.get_coro()) for task in others]

    assert (asyncio.run(left()), ended) == ([], ["first"])
