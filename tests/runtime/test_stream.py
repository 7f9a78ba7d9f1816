"""`crew.stream` and `crew.astream`: the items of a run, their order and timing."""

import asyncio
import dataclasses
import json
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypedDict, TypeVar

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from modes import Mode
from pydantic import BaseModel, SecretStr
from servers.openai_api import OpenAIServer, call, calls, error, text
from waiting import LONG

import crewgraph
import crewgraph.flow
from crewgraph import (
    Agent,
    BaseLLM,
    CrewOutput,
    Custom,
    Finished,
    Judged,
    ModelFinished,
    ModelStarted,
    ScriptedLLM,
    Started,
    Step,
    StreamItem,
    Task,
    TaskFailed,
    TaskFinished,
    TaskItem,
    TaskOutput,
    TaskStarted,
    Token,
    ToolCallToken,
    ToolFinished,
    ToolStarted,
    ToolUse,
)
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.errors import GuardrailFailed, MissingInput
from crewgraph.tools import tool

from .parts import agent, crew, served, task

Serve = Callable[[Any], OpenAIServer]
T = TypeVar("T", bound=StreamItem)


@tool
def look(what: str) -> str:
    """Look something up."""
    return f"the {what} is high"


def of(kind: type[T], items: Iterable[StreamItem]) -> list[T]:
    return [item for item in items if isinstance(item, kind)]


# ------------------------------------------------------------------------------------------------------ order
def test_run_is_streamed_in_order_from_start_to_output(mode: Mode, serve: Serve):
    clerk = agent(served(serve([call("look", {"what": "sea"}), "it is high"]).url), "Clerk of {what}", tools=[look])
    team = crew(task("mail", clerk, description="How is the {what}?"), name="desk")
    items = list(mode.stream_items(team, {"what": "sea"}, thread_id="one"))
    fields: Any = {"task": "mail", "agent": "Clerk of sea"}
    assert items[:2] == [
        Started(crew="desk", thread_id="one", inputs={"what": "sea"}),
        TaskStarted(**fields, index=0, name="mail", description="How is the sea?"),
    ]
    assert [item.kind for item in items[2:]] == [
        *("model_started", "tool_call_token", "tool_call_token", "model_finished"),
        *("tool_started", "tool_finished", "step"),
        *("model_started", "token", "token", "token", "model_finished", "step"),
        *("task_finished", "finished"),
    ]
    assert all(item.task == "mail" and item.agent == "Clerk of sea" for item in of(TaskItem, items))
    assert of(ToolStarted, items) == [ToolStarted(**fields, tool="look", args={"what": "sea"})]
    assert of(ToolFinished, items) == [
        ToolFinished(**fields, tool="look", args={"what": "sea"}, output="the sea is high", failed=False)
    ]
    assert of(Token, items) == [Token(**fields, text=piece) for piece in ("it", " is", " high")]
    assert [type(item.step) for item in of(Step, items)] == [AgentAction, AgentFinish]
    assert [item.number for item in of(Step, items)] == [1, 2]
    last = items[-1]
    assert isinstance(last, Finished)
    assert (last.output.raw, last.output.thread_id) == ("it is high", "one")
    assert of(TaskFinished, items)[0].output == last.output.tasks_output[0]


def test_output_equals_and_is_stored_like_that_of_a_kickoff(mode: Mode):
    team = crew(task("a", agent(ScriptedLLM(["x"]))), task("b", agent(ScriptedLLM(["y"]))))
    last = list(mode.stream_items(team, thread_id="one"))[-1]
    assert isinstance(last, Finished)
    assert [output.raw for output in last.output.tasks_output] == ["x", "y"]
    assert last.output.token_usage.successful_requests == 2
    assert team.token_usage == last.output.token_usage
    assert mode.resume(team, "one").raw == "y"


def test_nothing_is_stored_without_a_checkpointer(mode: Mode):
    items = list(mode.stream_items(crew(task("a", agent(ScriptedLLM(["x"])))), checkpointer=False))
    assert of(Started, items)[0].thread_id is None


def test_each_item_is_there_before_the_next_thing_happens(mode: Mode):
    """The reader hears of the request before the model may answer."""
    may_answer = threading.Event()

    def answer(messages: Any) -> str:
        assert may_answer.wait(LONG)
        return "x"

    items = mode.stream_items(crew(task("a", agent(ScriptedLLM(answer)))))
    for item in items:
        if isinstance(item, ModelStarted):
            may_answer.set()
    assert may_answer.is_set()


def test_pieces_are_there_while_the_model_still_writes(mode: Mode):
    read: list[str] = []
    reported = threading.Condition()

    class Slow(BaseLLM):
        def call(self, messages: Any, *_: Any, **__: Any) -> str:
            for number, piece in enumerate(("a", "b", "c"), 1):
                self._emit_text(piece)
                with reported:
                    assert reported.wait_for(lambda number=number: len(read) >= number, LONG)
            return "abc"

    for item in mode.stream_items(crew(task("a", agent(Slow("slow"))))):
        if isinstance(item, Token):
            with reported:
                read.append(item.text)
                reported.notify_all()
    assert read == ["a", "b", "c"]


def test_items_of_parallel_tasks_interleave_in_order_per_task(mode: Mode):
    both = threading.Barrier(2, timeout=LONG)

    class Meeting(BaseLLM):
        def call(self, messages: Any, *_: Any, **__: Any) -> str:
            for piece in "abc":
                both.wait()
                self._emit_text(piece)
            both.wait()
            return "abc"

    one, two = (task(name, agent(Meeting(name), name), async_execution=True) for name in ("one", "two"))
    items = list(mode.stream_items(crew(one, two, task("last", agent(ScriptedLLM(["x"]), "last")))))
    expected = ["task_started", "model_started", *["token"] * 3, "model_finished", "step", "task_finished"]
    for name in ("one", "two"):
        assert [item.kind for item in of(TaskItem, items) if item.task == name] == expected
    names = [item.task for item in of(Token, items)]
    assert names not in (["one"] * 3 + ["two"] * 3, ["two"] * 3 + ["one"] * 3)
    assert [item.index for item in of(TaskStarted, items)][-1] == 2


def test_parallel_tool_calls_are_each_streamed(mode: Mode, serve: Serve):
    tool_calls = calls(("look", {"what": "sea"}), ("look", {"what": "moon"}))
    items = list(mode.stream_items(crew(task("a", agent(served(serve([tool_calls, "x"]).url), tools=[look])))))
    written = {item.index: item for item in of(ToolCallToken, items)}
    assert [json.loads(written[n].arguments) for n in (0, 1)] == [{"what": "sea"}, {"what": "moon"}]
    assert {item.id for item in written.values()} == {"call_0_look", "call_1_look"}
    assert sorted(item.output for item in of(ToolFinished, items)) == ["the moon is high", "the sea is high"]


def test_guardrail_verdicts_are_streamed(mode: Mode):
    def long_enough(output: TaskOutput) -> tuple[bool, str]:
        return (False, "too short") if len(output.raw) < 2 else (True, output.raw)

    items = list(mode.stream_items(crew(task("a", agent(ScriptedLLM(["x", "xx"])), guardrail=long_enough))))
    verdicts = [(item.accepted, item.reason, item.retries) for item in of(Judged, items)]
    assert verdicts == [(False, "too short", 0), (True, None, 1)]


# ----------------------------------------------------------------------------------------------------- models
def test_models_stream_because_somebody_reads_and_only_then(mode: Mode, serve: Serve):
    server = serve(["one two", "one two"])
    team = crew(task("a", agent(served(server.url))))
    assert [item.text for item in of(Token, mode.stream_items(team))] == ["one", " two"]
    mode.kickoff(team)
    assert [body.get("stream", False) for body in server.bodies] == [True, False]


def test_usage_is_what_the_provider_reports_also_where_it_streams(mode: Mode, serve: Serve):
    usage = {"prompt_tokens": 70, "completion_tokens": 30, "total_tokens": 100}
    server = serve([text("one two", usage=usage)] * 2)
    streamed = list(mode.stream_items(crew(task("a", agent(served(server.url))))))
    last = streamed[-1]
    assert isinstance(last, Finished)
    assert last.output.token_usage == mode.kickoff(crew(task("a", agent(served(server.url))))).token_usage
    used = of(ModelFinished, streamed)[0].usage
    assert used is not None and (used.prompt_tokens, used.completion_tokens, used.successful_requests) == (70, 30, 1)


def test_a_langchain_model_for_another_server_reports_its_usage_too(mode: Mode, serve: Serve):
    server = serve(["one two", "one two"])
    chat_model = ChatOpenAI(model="test", base_url=server.url, api_key=SecretStr("key"))
    used = of(ModelFinished, mode.stream_items(crew(task("a", agent(chat_model)))))[0].usage
    assert used is not None and used.completion_tokens == 2
    own = ChatOpenAI(model="test", base_url=server.url, api_key=SecretStr("key"), stream_usage=False)
    assert of(ModelFinished, mode.stream_items(crew(task("a", agent(own)))))[0].usage is None


def test_any_langchain_model_streams(mode: Mode):
    chat_model = GenericFakeChatModel(messages=iter([AIMessage("one two")]))
    assert [item.text for item in of(Token, mode.stream_items(crew(task("a", agent(chat_model)))))] == [
        "one",
        " ",
        "two",
    ]


def test_a_model_that_is_not_to_stream_does_not(mode: Mode, serve: Serve):
    server = serve(["one two"])
    chat_model = ChatOpenAI(model="test", base_url=server.url, api_key=SecretStr("key"), disable_streaming=True)
    items = list(mode.stream_items(crew(task("a", agent(chat_model)))))
    assert (of(Token, items), of(ModelFinished, items)[0].text) == ([], "one two")


def test_a_model_with_fallbacks_streams_the_one_that_answers(mode: Mode, serve: Serve):
    def model(script: list[Any]) -> ChatOpenAI:
        return ChatOpenAI(model="test", base_url=serve(script).url, api_key=SecretStr("key"), max_retries=0)

    chat_model = model([error(500)]).with_fallbacks([model(["one two"])])
    assert [item.text for item in of(Token, mode.stream_items(crew(task("a", agent(chat_model)))))] == ["one", " two"]


def test_a_structured_answer_streams(mode: Mode, serve: Serve):
    class Tide(BaseModel):
        height: int

    llm = served(serve(['{"height": 3}']).url, response_format=Tide)
    items = list(mode.stream_items(crew(task("a", agent(llm), output_pydantic=Tide))))
    assert "".join(item.text for item in of(Token, items)) == '{"height": 3}'
    assert of(TaskFinished, items)[0].output.pydantic == Tide(height=3)


def test_scripted_model_streams_word_by_word_on_request(mode: Mode):
    def tokens(**options: Any) -> list[str]:
        return [
            item.text for item in of(Token, mode.stream_items(crew(task("a", agent(ScriptedLLM(["a b"], **options))))))
        ]

    assert (tokens(stream=True), tokens()) == (["a", " b"], [])


# --------------------------------------------------------------------------------------------------- failures
def test_what_a_run_raises_comes_behind_the_items_of_what_was_done(mode: Mode):
    items: list[StreamItem] = []
    team = crew(task("a", agent(ScriptedLLM(["x"]))), task("b", agent(ScriptedLLM([ConnectionError("down")]))))
    with pytest.raises(ConnectionError, match="down") as caught:
        list(mode.stream_items(team))
    assert "in task `b` of agent `worker`" in caught.value.__notes__
    with pytest.raises(ConnectionError):
        for item in mode.stream_items(crew(task("b", agent(ScriptedLLM([ConnectionError("down")]))))):
            items.append(item)
    assert [item.kind for item in items] == [
        *("started", "task_started", "model_started", "model_finished", "task_failed")
    ]
    finished = of(ModelFinished, items)[0]
    assert (finished.text, finished.error) == ("", "ConnectionError: down")
    assert of(TaskFailed, items)[0].error == "task `b` of agent `worker`: ConnectionError: down"


def test_a_failed_run_can_be_resumed(mode: Mode):
    team = crew(task("a", agent(ScriptedLLM(["x"]))), task("b", agent(ScriptedLLM([ConnectionError("down"), "y"]))))
    with pytest.raises(ConnectionError):
        list(mode.stream_items(team, thread_id="one"))
    assert mode.resume(team, "one").raw == "y"


def test_failing_tool_and_unknown_tool_are_streamed(mode: Mode):
    @tool
    def broken() -> str:
        """Fail."""
        raise OSError("no such tide")

    script = [ToolUse("broken"), ToolUse("nothing"), "Final Answer: x"]
    items = list(mode.stream_items(crew(task("a", agent(ScriptedLLM(script), tools=[broken])))))
    assert [item.tool for item in of(ToolStarted, items)] == ["broken"]
    results = [(item.tool, item.failed) for item in of(ToolFinished, items)]
    assert results == [("broken", True), ("nothing", True)]
    assert "no such tide" in of(ToolFinished, items)[0].output


def test_a_guardrail_that_refuses_every_attempt_raises(mode: Mode):
    team = crew(task("a", agent(ScriptedLLM(["x"])), guardrail=lambda _: (False, "no"), guardrail_max_retries=0))  # pyright: ignore[reportUnknownLambdaType]
    items: list[StreamItem] = []
    with pytest.raises(GuardrailFailed):
        for item in mode.stream_items(team):
            items.append(item)
    assert isinstance(items[-1], TaskFailed)


def test_missing_input_is_raised_before_any_item(mode: Mode):
    items: list[StreamItem] = []
    with pytest.raises(MissingInput):
        for item in mode.stream_items(crew(task("a", agent(ScriptedLLM([])), description="{x} {y}")), {"x": 1}):
            items.append(item)
    assert items == []


def test_nothing_runs_before_the_first_item_is_requested(mode: Mode):
    llm = ScriptedLLM(["x"])
    items = mode.stream_items(crew(task("a", agent(llm))))
    assert llm.requests == []
    assert isinstance(next(items), Started)
    assert len(list(items)) > 0
    assert len(llm.requests) == 1


# ----------------------------------------------------------------------------------------------------- around
def test_callbacks_change_inputs_and_output_as_in_a_kickoff(mode: Mode):
    def before(inputs: dict[str, Any] | None) -> dict[str, Any]:
        return {"what": "moon"}

    def after(output: CrewOutput) -> CrewOutput:
        output.raw = output.raw.upper()
        return output

    team = crew(
        task("a", agent(ScriptedLLM(["x"])), description="{what}"),
        before_kickoff_callbacks=[before],
        after_kickoff_callbacks=[after],
    )
    items = list(mode.stream_items(team, {"what": "sea"}))
    assert of(Started, items)[0].inputs == {"what": "moon"}
    assert of(Finished, items)[0].output.raw == "X"


def test_custom_stream_data_of_a_tool_is_streamed(mode: Mode):
    @tool
    def slow() -> str:
        """Work."""
        get_stream_writer()({"done": 0.5})
        return "done"

    items = list(
        mode.stream_items(crew(task("a", agent(ScriptedLLM([ToolUse("slow"), "Final Answer: x"]), tools=[slow]))))
    )
    at = [item.kind for item in items]
    assert of(Custom, items) == [Custom(data={"done": 0.5})]
    assert at.index("tool_started") < at.index("custom") < at.index("tool_finished")


def test_crew_kicked_off_by_a_tool_is_not_streamed(mode: Mode):
    inner = crew(task("inner", agent(ScriptedLLM(["y"], stream=True))))

    @tool
    def ask() -> str:
        """Ask the others."""
        return inner.kickoff().raw

    items = list(
        mode.stream_items(crew(task("outer", agent(ScriptedLLM([ToolUse("ask"), "Final Answer: x"]), tools=[ask]))))
    )
    assert {item.task for item in of(TaskItem, items)} == {"outer"}
    assert of(ToolFinished, items)[0].output == "y"
    assert len(of(Started, items)) == len(of(Finished, items)) == 1


def test_overridden_kickoff_that_calls_super_is_streamed(mode: Mode):
    class Careful(Agent):
        def execute_task(self, task: Task, context: str | None = None, tools: Any = None) -> str:
            return super().execute_task(task, context, tools).upper()

    careful = Careful(role="r", goal="g", backstory="b", llm=ScriptedLLM(["x y"], stream=True))
    items = list(mode.stream_items(crew(task("a", careful))))
    assert [item.text for item in of(Token, items)] == ["x", " y"]
    assert of(Finished, items)[0].output.raw == "X Y"


def test_two_streams_of_one_crew_do_not_mix(mode: Mode):
    def answer(messages: Any) -> str:
        return "sea" if "sea" in messages[-1]["content"] else "moon"

    team = crew(task("a", agent(ScriptedLLM(answer, stream=True)), description="{what}"))
    first, second = (mode.stream_items(team, {"what": what}) for what in ("sea", "moon"))
    received: list[list[StreamItem]] = [[], []]
    for _ in range(50):
        for items, stream in zip(received, (first, second), strict=True):
            if (item := next(stream, None)) is not None:
                items.append(item)
    assert [[item.text for item in of(Token, items)] for items in received] == [["sea"], ["moon"]]
    assert [of(Finished, items)[0].output.raw for items in received] == ["sea", "moon"]


def test_what_the_reader_does_between_items_is_not_a_part_of_the_stream(mode: Mode):
    other = crew(task("other", agent(ScriptedLLM(["y"], stream=True, repeat_last=True))))
    items: list[StreamItem] = []
    for item in mode.stream_items(crew(task("a", agent(ScriptedLLM(["x"], stream=True))))):
        items.append(item)
        other.kickoff()
    assert {item.task for item in of(TaskItem, items)} == {"a"}


def test_a_stream_in_a_node_is_a_part_of_the_graph_around_it(mode: Mode):
    class Page(TypedDict, total=False):
        text: str

    llm = ScriptedLLM([ConnectionError("down"), "x"])
    clerk = ScriptedLLM(["facts"])
    team = crew(task("facts", agent(clerk)), task("text", agent(llm)))

    def write(state: Page) -> Page:
        return {"text": of(Finished, team.stream())[0].output.raw}

    async def awrite(state: Page) -> Page:
        return {"text": of(Finished, [item async for item in team.astream()])[0].output.raw}

    graph: Any = StateGraph(Page)
    graph.add_node("write", awrite if mode.asynchronous else write)
    graph.add_edge(START, "write")
    graph.add_edge("write", END)
    app = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    with pytest.raises(ConnectionError):
        mode.invoke(app, {}, config)
    assert mode.invoke(app, None, config)["text"] == "x"
    assert len(clerk.requests) == 1


def test_a_stream_works_inside_a_running_event_loop():
    async def cell() -> list[StreamItem]:
        return list(crew(task("a", agent(ScriptedLLM(["x"])))).stream())

    assert of(Finished, asyncio.run(cell()))[0].output.raw == "x"


def test_a_web_server_may_take_each_item_on_another_thread():
    """As Starlette does with a generator: each step in a thread of its own, with a context of its own."""
    items: list[StreamItem] = []
    stream = crew(
        task("a", agent(ScriptedLLM(["x y"], stream=True))), task("b", agent(ScriptedLLM(["z"], stream=True)))
    ).stream()

    async def serve() -> None:
        while (item := await asyncio.to_thread(next, stream, None)) is not None:
            items.append(item)

    asyncio.run(serve())
    assert [item.text for item in of(Token, items)] == ["x", " y", "z"]
    assert isinstance(items[-1], Finished)


# ------------------------------------------------------------------------------------------------------ items
class Tide(BaseModel):
    height: int


def test_every_item_is_json_and_names_its_kind(mode: Mode, serve: Serve):
    def fine(output: TaskOutput) -> tuple[bool, Any]:
        return True, output

    server = serve([call("look", {"what": "sea"}), '{"height": 3}'])
    tide = task("tide", agent(served(server.url), tools=[look]), output_pydantic=Tide, guardrail=fine)
    items = list(mode.stream_items(crew(tide), {"a": 1}))
    for item in items:
        sent = json.loads(json.dumps(item.to_dict()))
        assert sent["kind"] == item.kind
        assert set(sent) == {field.name for field in dataclasses.fields(item)}
    sent = items[-1].to_dict()["output"]
    assert (sent["pydantic"], sent["tasks_output"][0]["pydantic"]) == ({"height": 3}, {"height": 3})
    step = of(Step, items)[0].to_dict()["step"]
    assert (step["tool"], step["result"]) == ("look", "the sea is high")
    used = of(ModelFinished, items)[0].to_dict()["usage"]
    assert used["successful_requests"] == 1


def test_items_can_be_matched_and_not_changed():
    token = Token(task="a", agent="b", text="c")
    match token:
        case Token(text=text, task="a"):
            assert text == "c"
        case _:
            pytest.fail("not matched")
    with pytest.raises(dataclasses.FrozenInstanceError):
        token.text = "d"  # pyright: ignore[reportAttributeAccessIssue]
    assert Custom(data=object).to_dict()["data"].startswith("<class")


def test_every_kind_of_item_is_in_the_package_and_no_two_are_called_the_same():
    from crewgraph.definitions import stream

    names = [name for name in stream.__all__ if name not in vars(crewgraph.flow)["__all__"]]
    classes = [getattr(crewgraph, name) for name in names]
    assert all(getattr(stream, name) is one for name, one in zip(names, classes, strict=True))
    leaves = [one for one in classes if "kind" in vars(one)]
    assert len({step.kind for step in leaves}) == len(leaves) == len(names) - 1
    with pytest.raises(AttributeError, match="no attribute `Nothing`"):
        getattr(crewgraph, "Nothing")  # noqa: B009
