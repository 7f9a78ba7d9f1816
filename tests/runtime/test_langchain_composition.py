"""Crews and flows as parts of LangChain programs: tools of agents, named nodes, runs with a caller's config."""

import asyncio
import operator
import time
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from modes import Mode, graph_of
from pydantic import BaseModel, ValidationError

from crewgraph import Crew, CrewOutput, ScriptedLLM, TaskOutput, ToolUse
from crewgraph.definitions.agent.output import LiteAgentOutput
from crewgraph.errors import CompileError, RunError
from crewgraph.flow import Flow, human_feedback, listen, start
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

from .parts import agent, crew, task


class Ledger:
    """A crew that pays an invoice once a person has approved, and what was paid."""

    def __init__(self, *, seconds: float = 0) -> None:
        self.paid: list[str] = []
        self.seconds = seconds

    def crew(self, *, approved: bool = True) -> Crew:
        @tool(require_approval=approved)
        def pay(invoice: str) -> str:
            """Pay an invoice."""
            self.paid.append(invoice)
            time.sleep(self.seconds)
            return f"paid {invoice}"

        def reply(messages: list[dict[str, Any]]) -> Any:
            invoice = str(messages).rpartition("invoice <")[2].partition(">")[0]
            return (
                f"Final Answer: {invoice} is paid"
                if f"paid {invoice}" in str(messages)
                else ToolUse("pay", {"invoice": invoice})
            )

        clerk = agent(ScriptedLLM(reply), "Clerk", tools=[pay])
        return crew(task("payment", clerk, description="Pay invoice <{invoice}>."), name="accounts: payable")


def assistant(
    tools: "list[Any] | ToolNode", *calls: dict[str, Any], checkpointer: Any = None, handle_tool_errors: bool = False
) -> Any:
    """An agent by hand, which makes some tool calls at once and ends."""

    def model(state: MessagesState) -> dict[str, list[AnyMessage]]:
        if isinstance(state["messages"][-1], HumanMessage):
            return {"messages": [AIMessage("", tool_calls=[{**call, "type": "tool_call"} for call in calls])]}
        return {"messages": [AIMessage("done")]}

    def way(state: MessagesState) -> str:
        return "tools" if getattr(state["messages"][-1], "tool_calls", ()) else END

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    node = tools if isinstance(tools, ToolNode) else ToolNode(tools, handle_tool_errors=handle_tool_errors)
    graph.add_node("tools", node)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", way, ["tools", END])
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=checkpointer)


ASK: Any = {"messages": [HumanMessage("Pay them.")]}


def test_a_crew_is_a_tool_with_its_placeholders_as_arguments(mode: Mode):
    ledger = Ledger()
    made = ledger.crew(approved=False).as_tool()
    assert made.name == "accounts_payable"
    assert made.description == "Run the crew accounts: payable. Pay invoice <{invoice}>. Returns: a text"
    schema: Any = made.tool_call_schema
    assert schema["properties"].keys() == {"invoice"}
    call = {"name": made.name, "args": {"invoice": "A-1"}, "id": "1"}
    done = mode.invoke(assistant([made], call), ASK)
    answer = done["messages"][-2]
    assert (answer.content, answer.artifact.raw, ledger.paid) == ("A-1 is paid", "A-1 is paid", ["A-1"])


def test_the_artifact_of_a_crew_is_restored_from_a_checkpoint_without_warnings(
    mode: Mode, caplog: pytest.LogCaptureFixture
):
    made = Ledger().crew(approved=False).as_tool()
    call = {"name": made.name, "args": {"invoice": "A-1"}, "id": "1"}
    graph, config = assistant([made], call, checkpointer=InMemorySaver()), {"configurable": {"thread_id": "t"}}
    mode.invoke(graph, ASK, config)
    [output] = mode.state(graph, config).values["messages"][-2].artifact["tasks_output"]
    assert (output["raw"], output["output_format"]) == ("A-1 is paid", "raw")
    assert caplog.messages == []


class Invoice(BaseModel):
    number: str


class Accounts(TypedDict, total=False):
    paid: Any
    asked: Any
    usage: Any


@pytest.mark.parametrize("strict", [False, True])
def test_outputs_in_the_state_of_a_graph_are_restored_with_their_structure(
    mode: Mode, tmp_path: Path, caplog: pytest.LogCaptureFixture, strict: bool
):
    clerk = agent(ScriptedLLM(lambda _: '{"number": "A-1"}'))

    def pay(state: Accounts) -> Accounts:
        paid = crew(task("pay", clerk, output_pydantic=Invoice)).kickoff()
        return {"paid": paid, "asked": clerk.kickoff("Which?", response_format=Invoice), "usage": paid.token_usage}

    saver = InMemorySaver() if not strict else SqliteCheckpointer(tmp_path / "runs.db")
    graph, config = graph_of(Accounts, {"pay": pay}, checkpointer=saver), {"configurable": {"thread_id": "t"}}
    mode.invoke(graph, {}, config)
    state = mode.state(graph, config).values
    assert isinstance(state["paid"], CrewOutput) and isinstance(state["asked"], LiteAgentOutput)
    assert [state[key].pydantic.number for key in ("paid", "asked")] == ["A-1", "A-1"]
    assert (state["paid"]["number"], state["paid"].tasks_output[0].pydantic.number) == ("A-1", "A-1")
    assert state["usage"].successful_requests == 1
    assert [text for text in caplog.messages if "Blocked" in text] == []


def test_a_call_that_leaves_an_argument_out_is_reported_to_the_model_and_runs_nothing(mode: Mode):
    ledger = Ledger()
    for made in (ledger.crew(approved=False).as_tool("pay_invoice"), Report().as_tool("pay_invoice")):
        call = {"name": "pay_invoice", "args": {"topic": "x"}, "id": "1"}
        answer = mode.invoke(assistant([made], call, handle_tool_errors=True), ASK)["messages"][-2]
        assert answer.status == "error"
        assert "Field required" in answer.content
        with pytest.raises(ValidationError, match="invoice|tone"):
            made.invoke({})
    assert ledger.paid == []


def test_questions_of_crews_that_are_tools_interrupt_the_graph_around_them(mode: Mode):
    ledger = Ledger()
    made = ledger.crew().as_tool("pay_invoice")
    calls = [{"name": "pay_invoice", "args": {"invoice": name}, "id": name} for name in ("A-1", "B-2")]
    graph = assistant([made], *calls, checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    out = mode.invoke(graph, ASK, config)
    asked = 0
    while out.get("__interrupt__"):
        asked += 1
        out = mode.invoke(graph, Command(resume={out["__interrupt__"][0].id: True}), config)
    assert (asked, sorted(ledger.paid)) == (2, ["A-1", "B-2"])
    assert [message.content for message in out["messages"][2:]] == ["A-1 is paid", "B-2 is paid", "done"]


class Delays:
    """Tool calls of a node that begin late: one of them at the first attempt, the other at later ones."""

    def __init__(self, *ids: str) -> None:
        self.late = ids
        self.attempts = dict.fromkeys(ids, 0)

    def delay(self, call: str) -> float:
        self.attempts[call] += 1
        return 0.3 if call == self.late[min(self.attempts[call], len(self.late)) - 1] else 0

    def wrap(self, request: Any, execute: Any) -> Any:
        time.sleep(self.delay(request.tool_call["id"]))
        return execute(request)

    async def awrap(self, request: Any, execute: Any) -> Any:
        await asyncio.sleep(self.delay(request.tool_call["id"]))
        return await execute(request)


def test_calls_in_parallel_keep_their_runs_whichever_begins_first(mode: Mode):
    ledger = Ledger()
    delays = Delays("B-2", "A-1")
    tools = ToolNode(
        [ledger.crew().as_tool("pay_invoice")],
        handle_tool_errors=False,
        wrap_tool_call=delays.wrap,
        awrap_tool_call=delays.awrap,
    )
    calls = [{"name": "pay_invoice", "args": {"invoice": name}, "id": name} for name in delays.attempts]
    graph = assistant(tools, *calls, checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    out = mode.invoke(graph, ASK, config)
    while out.get("__interrupt__"):
        out = mode.invoke(graph, Command(resume={out["__interrupt__"][0].id: True}), config)
    assert sorted(ledger.paid) == ["A-1", "B-2"]
    assert [message.content for message in out["messages"][2:]] == ["B-2 is paid", "A-1 is paid", "done"]


def test_a_call_is_finished_and_kept_before_the_question_of_another_one_interrupts(mode: Mode):
    ledger = Ledger(seconds=0.5)
    made = ledger.crew().as_tool("pay_invoice")
    calls = [{"name": "pay_invoice", "args": {"invoice": name}, "id": name} for name in ("A-1", "B-2")]
    graph = assistant([made], *calls, checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    out = mode.invoke(graph, ASK, config)
    while out.get("__interrupt__"):
        out = mode.invoke(graph, Command(resume={out["__interrupt__"][0].id: True}), config)
    assert sorted(ledger.paid) == ["A-1", "B-2"]


class Request(BaseModel):
    topic: str = ""
    words: int = 100


class Report(Flow[Request]):
    """Write a report."""

    @start()
    def write(self, tone: str) -> str:
        return f"{tone}: {self.state.topic} in {self.state.words} words"


def test_a_flow_is_a_tool_with_its_state_and_parameters_as_arguments(mode: Mode):
    made = Report().as_tool()
    assert (made.name, made.description) == ("report", "Write a report.")
    schema: Any = made.tool_call_schema
    assert {name: field["type"] for name, field in schema["properties"].items()} == {
        "topic": "string",
        "words": "integer",
        "tone": "string",
    }
    assert schema["required"] == ["tone"]
    calls = [{"name": "report", "args": {"topic": topic, "tone": "dry"}, "id": topic} for topic in ("rain", "snow")]
    done = mode.invoke(assistant([made], *calls), ASK)
    assert [message.content for message in done["messages"][2:4]] == [
        "dry: rain in 100 words",
        "dry: snow in 100 words",
    ]


class Dates(Flow[dict[str, Any]]):
    """Say something of any type."""

    said: Any = None

    @start()
    def say(self) -> Any:
        return type(self).said


class Amount(BaseModel):
    euros: int


def test_what_a_flow_returns_is_the_text_of_its_tool_and_of_its_message(mode: Mode):
    paid = CrewOutput(raw="paid", tasks_output=[])
    for Dates.said, text in (
        (date(2026, 1, 2), '"2026-01-02"'),
        (Amount(euros=3), '{"euros": 3}'),
        ({"b", "a"}, '["a", "b"]'),
        ({"on": date(2026, 1, 2), "for": [Amount(euros=3)]}, '{"on": "2026-01-02", "for": [{"euros": 3}]}'),
        (paid, "paid"),
        ("", ""),
    ):
        call: dict[str, Any] = {"name": "dates", "args": {}, "id": "1"}
        answer = mode.invoke(assistant([Dates().as_tool()], call), ASK)["messages"][-2]
        assert (answer.content, answer.artifact) == (text, Dates.said)
        talk = mode.invoke(Dates().compile(messages="question", name="dates"), {"messages": [HumanMessage("Say.")]})
        assert [(one.type, one.text) for one in talk["messages"]] == [("human", "Say."), ("ai", text)]


# ------------------------------------------------------------------------------------------------- result
def test_the_result_of_a_graph_is_under_one_key(mode: Mode):
    clerk = agent(ScriptedLLM(["text", '{"euros": 3}']))
    graph = mode.compile(
        crew(task("first", clerk), task("second", clerk, output_pydantic=Amount)), checkpointer=InMemorySaver()
    )
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    assert mode.invoke(graph, {}, config)["output"] == {"euros": 3}
    assert mode.state(graph, config).values["output"] == {"euros": 3}


def helper() -> Crew:
    def reply(messages: list[dict[str, Any]]) -> str:
        return "Final Answer: about " + str(messages[-1]).partition("answer <")[2].partition(">")[0]

    return crew(task("answer", agent(ScriptedLLM(reply)), description="Please answer <{question}>."), name="help desk")


def test_a_graph_that_takes_part_in_a_conversation_answers_its_last_message(mode: Mode):
    graph = mode.compile(helper(), messages=True, checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    for question in ("rain?", "snow?"):
        done = mode.invoke(graph, {"messages": [{"role": "user", "content": question}]}, config)
    assert [(message.type, message.content, message.name) for message in done["messages"]] == [
        ("human", "rain?", None), ("ai", "about rain?", "help desk"), ("human", "snow?", None),
        ("ai", "about snow?", "help desk"),
    ]  # fmt: skip
    assert done["output"] == "about snow?"


def test_an_agent_hands_its_whole_state_to_a_crew_as_deep_agents_do(mode: Mode):
    state: dict[str, Any] = {"messages": [HumanMessage("rain?")], "files": {"a.txt": "A"}, "todos": []}
    done = mode.invoke(mode.compile(helper(), messages=True), state)
    assert done["messages"][-1].content == "about rain?"
    assert "files" not in done


IMAGE = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}


def shop_crew(model: Any, **options: Any) -> Crew:
    one, other = agent(model, **options), agent(model, "Writer")
    return crew(
        task("look", one, description="Look up {question}."),
        task("messages", other, description="Answer {question}."),
        task("again", other),
    )


@pytest.mark.parametrize("granularity", ["task", "step"])
def test_each_agent_sees_the_whole_conversation_before_its_first_task(mode: Mode, granularity: str):
    model = ScriptedLLM(["a", "b", "c"] * 2)
    graph = mode.compile(shop_crew(model), messages=True, granularity=granularity, checkpointer=InMemorySaver())
    first: list[Any] = [
        SystemMessage("Be brief."),
        HumanMessage("My order is 4711"),
        AIMessage("", tool_calls=[{"id": "1", "name": "find", "args": {"id": 4711}}]),
        ToolMessage("a lamp", tool_call_id="1"),
        AIMessage("What about it?"),
        HumanMessage("It is broken"),
    ]
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    mode.invoke(graph, {"messages": [*first, HumanMessage("Refund it")]}, config)
    look, answer, again = (request.messages for request in model.requests)
    for messages, begins in ((look, "Look up Refund it."), (answer, "Answer Refund it.")):
        assert messages[0]["content"].endswith("Be brief.")
        assert [(one["role"], one["content"]) for one in messages[1:-1]] == [
            ("user", "My order is 4711"),
            ("assistant", 'Action: find\nAction Input: {"id": 4711}'),
            ("user", "Observation: a lamp"),
            ("assistant", "What about it?"),
            ("user", "It is broken"),
        ]
        assert begins in messages[-1]["content"]
    assert [one["role"] for one in again] == ["system", "user"]
    done = mode.invoke(graph, {"messages": [HumanMessage([{"type": "text", "text": "This?"}, IMAGE])]}, config)
    assert [one["content"] for one in model.requests[3].messages[-3:-1]] == ["Refund it", "c"]
    assert model.requests[3].messages[-1]["content"][1:] == [IMAGE]
    assert (done["messages_2"]["raw"], len(done["messages"])) == ("b", 10)


def test_a_message_is_left_out_only_where_the_task_has_its_placeholder(mode: Mode):
    model = ScriptedLLM(["a", "b"])
    asked = task("ask", agent(model), description="Look up {question}.")
    other = task("other", agent(model, "Writer"), description="Say it in a notable way, for {who}.")
    graph = mode.compile(crew(asked, other), messages="question")
    mode.invoke(graph, {"messages": [HumanMessage("Go on?"), HumanMessage("no")], "inputs": {"who": "no"}})
    assert [[one["content"] for one in request.messages[1:-1]] for request in model.requests] == [
        ["Go on?"],
        ["Go on?", "no"],
    ]


def test_a_long_conversation_is_summarized(mode: Mode):
    summarized: list[int] = []

    def reply(messages: list[dict[str, Any]]) -> Any:
        text = str(messages)
        if "long ago" not in text:
            return "done"
        if len(messages) > 2:
            return ContextLengthExceeded("too long")
        summarized.append(len(text))
        return "all about 4711"

    state = {"messages": [("human", "long ago " * 50), ("ai", "yes"), ("human", "Refund it")]}
    model = ScriptedLLM(reply)
    assert mode.invoke(mode.compile(shop_crew(model), messages=True), state)["output"] == "done"
    assert len(summarized) == 2
    assert "all about 4711" in model.requests[2].messages[1]["content"]


class TextOnly(ScriptedLLM):
    def supports_multimodal(self) -> bool:
        return False


class SeesImages(FakeListChatModel):
    profile: Any = {"image_inputs": True, "audio_inputs": False}


def test_a_block_that_a_model_does_not_take_is_an_error_before_a_model_is_asked():
    url = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    sound = {"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"}
    for model, block, says in (
        (TextOnly([]), IMAGE, "takes no `image`"),
        ("gpt-3.5-turbo", url, "takes no `image`"),
        ("gpt-4o", sound, "takes no `audio`"),
        (SeesImages(responses=[]), sound, "takes no `audio`"),
        (ScriptedLLM([]), {"type": "picture"}, "block of the type `picture`"),
    ):
        with pytest.raises(RunError, match=says):
            shop_crew(model).compile(messages=True).invoke({"messages": [HumanMessage([block])]})

    def echo(text: str) -> str:
        return text

    executor = agent(None, agent_executor=RunnableLambda(echo))
    made = crew(task("answer", executor, description="Answer {question}."))
    with pytest.raises(RunError, match="takes texts only"):
        made.compile(messages=True).invoke({"messages": [HumanMessage([IMAGE])]})
    seeing = shop_crew(SeesImages(responses=["a"] * 3)).compile(messages=True)
    assert seeing.invoke({"messages": [HumanMessage([IMAGE])]})["output"] == "a"


class Desk(Flow[dict[str, Any]]):
    @start()
    def read(self) -> str:
        return f"{len(self.state['messages'])}: {self.state['question']}"


class Turns(BaseModel):
    question: str = ""
    messages: list[dict[str, Any]] = []


class TypedDesk(Flow[Turns]):
    @start()
    def read(self) -> Amount:
        assert self.state.messages[-1]["content"] == self.state.question
        return Amount(euros=len(self.state.messages))


def test_a_flow_takes_part_in_a_conversation(mode: Mode):
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    for flow, messages, answers in (
        (Desk(), "question", ["1: rain?", "3: snow?"]),
        (TypedDesk(), True, ['{"euros": 1}', '{"euros": 3}']),
    ):
        graph = flow.compile(messages=messages, name="desk", checkpointer=InMemorySaver())
        for question in ("rain?", "snow?"):
            done = mode.invoke(graph, {"messages": [HumanMessage(question)]}, config)
        assert [message.text for message in done["messages"]] == ["rain?", answers[0], "snow?", answers[1]]
        assert done["messages"][-1].name == "desk"
        builder = StateGraph(MessagesState)
        builder.add_node(flow.compile(messages=messages, name="desk"))
        builder.add_edge(START, "desk")
        assert mode.invoke(builder.compile(), {"messages": [("human", "rain?")]})["messages"][-1].text == answers[0]
    with pytest.raises(CompileError, match="It has `tone`, `topic`, `words`. Name one"):
        Report().compile(messages=True)
    with pytest.raises(CompileError, match="the input `topics` is neither"):
        Report().compile(messages="topics")


@pytest.mark.parametrize(
    ("description", "messages", "says"),
    [
        ("Do it.", True, "its texts have none. Put one where"),
        ("Do {a} and {b}.", True, "its texts have `a`, `b`"),
        ("Do {a}.", "b", "names no placeholder of the crew's texts; they have `a`"),
    ],
    ids=["none", "several", "another"],
)
def test_the_placeholder_of_a_conversation_must_be_clear(description: str, messages: bool | str, says: str):
    with pytest.raises(CompileError, match=says):
        crew(task("only", agent(ScriptedLLM([])), description=description)).compile(messages=messages)


class Written(BaseModel):
    research: str | None = None
    sum: Amount | None = None
    task: TaskOutput | None = None
    output: Amount | None = None


class Counted(TypedDict, total=False):
    n: int
    seen: Annotated[list[str], operator.add]
    untouched: Annotated[list[str], operator.add]
    output: Any


class Tally(BaseModel):
    n: int = 0
    seen: list[str] = []
    untouched: list[str] = ["default"]


class Count(Flow[Tally]):
    @start()
    def count(self) -> str:
        self.state.n += 1
        return "counted"

    @listen(count)
    @human_feedback("Fine?", llm=None)
    def confirm(self, counted: str) -> str:
        self.state.n += 10
        return counted


def test_outputs_and_changes_of_a_node_reach_the_state_around_it_as_it_declares_them(mode: Mode):
    clerk = agent(ScriptedLLM(["notes", "why", '{"euros": 3}']))
    team = crew(task("research", clerk), task("task", clerk), task("sum", clerk, output_pydantic=Amount), name="team")
    builder = StateGraph(Written)
    builder.add_node(mode.compile(team))
    builder.add_edge(START, "team")
    done = mode.invoke(builder.compile(checkpointer=InMemorySaver()), {}, {"configurable": {"thread_id": "t"}})
    assert (done["research"], done["sum"], done["output"]) == ("notes", Amount(euros=3), Amount(euros=3))
    assert done["task"].raw == "why"
    app = graph_of(Counted, {"count": Count().compile()}, checkpointer=InMemorySaver())
    config = RunnableConfig(configurable={"thread_id": "t"})
    mode.invoke(app, {"n": 5, "seen": ["a"]}, config)
    done = mode.invoke(app, Command(resume="yes"), config)
    assert (done["n"], done["seen"], done["untouched"]) == (16, ["a"], [])


class Heard(BaseCallbackHandler):
    def __init__(self) -> None:
        self.runs: list[tuple[str, tuple[str, ...], str | None]] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **run: Any) -> None:
        self.runs.append((run["name"], tuple(run["tags"]), run["metadata"].get("tenant")))


@langchain_tool
def whoami(question: str, config: RunnableConfig) -> str:
    """Tell who asks."""
    return f"user {(config.get('configurable') or {}).get('user_id')}"


def asking() -> Crew:
    def reply(messages: list[dict[str, Any]]) -> Any:
        return "Final Answer: user 42" if "user 42" in str(messages) else ToolUse("whoami", {"question": "?"})

    return crew(task("who", agent(ScriptedLLM(reply), "Clerk", tools=[whoami])), name="desk")


def test_a_kickoff_takes_langchains_config(mode: Mode):
    received = Heard()
    config: RunnableConfig = {
        "callbacks": [received],
        "tags": ["nightly"],
        "metadata": {"tenant": "acme"},
        "run_name": "who is it",
        "recursion_limit": 3,
        "configurable": {"thread_id": "t-1", "user_id": "42"},
    }
    output = mode.kickoff(asking(), config=config)
    assert (output.raw, output.thread_id) == ("user 42", "t-1")
    assert received.runs[0] == ("who is it", ("nightly",), "acme")
    assert {tenant for _, _, tenant in received.runs} == {"acme"}
    assert all("nightly" in tags for _, tags, _ in received.runs)
    assert asking().history("t-1")


class Named(Flow[dict[str, Any]]):
    @start()
    def identify(self) -> str:
        return asking().kickoff().raw

    @listen(identify)
    @human_feedback("Is that right?", emit=["yes", "no"], llm=None)
    def check(self, answer: str) -> str:
        return answer


def test_a_flow_runs_on_the_thread_of_a_config_and_continues_there(mode: Mode):
    saver = InMemorySaver()
    config: RunnableConfig = {"configurable": {"thread_id": "f-1", "user_id": "42"}}
    flow = Named(checkpointer=saver)
    waiting = asyncio.run(flow.akickoff(config=config)) if mode.asynchronous else flow.kickoff(config=config)
    assert waiting.flow_id == "f-1"
    assert Named(checkpointer=saver).resume("f-1", "yes") is not None


class PaysInvoices(Flow[dict[str, Any]]):
    @start()
    def pay(self) -> str:
        return Ledger().crew().kickoff({"invoice": self.state["question"]}).raw


async def collected(events: AsyncIterator[Any]) -> list[Any]:
    return [event async for event in events]


class Posts(Flow[dict[str, Any]]):
    @start()
    def post(self) -> str:
        return posting().kickoff({"question": "all"}).raw


def posting() -> Crew:
    """A crew that asks for the approval of two calls of one reply."""

    @tool(require_approval=True)
    def post(to: str) -> str:
        """Post a letter."""
        return f"to {to}"

    def reply(messages: list[dict[str, Any]]) -> Any:
        results = [str(one["content"]) for one in messages if one["role"] == "tool"]
        return results[0] if results else [ToolUse("post", {"to": to}) for to in ("anna", "bert")]

    clerk = agent(ScriptedLLM(reply, native_tools=True), tools=[post])
    return crew(task("post", clerk, description="Post to {question}."), name="post")


class FrontEnd:
    """Speaks AG-UI with a graph, in one thread."""

    def __init__(self, graph: Any) -> None:
        self.package: Any = pytest.importorskip("ag_ui_langgraph", reason="`pip install 'ag-ui-langgraph[fastapi]'`")
        self.graph, self.messages = graph, list[Any]()

    def run(self, resume: Any = None, **forwarded: Any) -> dict[str, list[Any]]:
        """Return the events of a run by type."""
        from ag_ui.core import RunAgentInput

        about: Any = {"thread_id": "t", "run_id": "r", "state": {}, "tools": [], "context": []}
        asked = RunAgentInput(**about, messages=self.messages, resume=resume, forwarded_props=forwarded)
        speaking = self.package.LangGraphAgent(name="team", graph=self.graph, emit_interrupt_outcome=True)
        events: dict[str, list[Any]] = {}
        for event in asyncio.run(collected(speaking.run(asked))):
            events.setdefault(event.type.value, []).append(event)
        if "MESSAGES_SNAPSHOT" in events:
            self.messages = [message.model_dump() for message in events["MESSAGES_SNAPSHOT"][-1].messages]
        return events

    def answer(self, asked: dict[str, list[Any]], *statuses: str) -> dict[str, list[Any]]:
        """Answer the interrupts that a run has ended with, or cancel them."""
        interrupts = asked["RUN_FINISHED"][-1].outcome.interrupts
        given = zip(interrupts, statuses or ["resolved"], strict=True)
        return self.run([{"interrupt_id": one.id, "status": status, "payload": True} for one, status in given])


def tool_calls(events: dict[str, list[Any]]) -> list[tuple[str, str, str]]:
    """Return the names, the arguments and the results of calls, which have the same id."""
    of: list[list[Any]] = [events.get(f"TOOL_CALL_{one}", []) for one in ("START", "ARGS", "END", "RESULT")]
    calls = list(zip(*of, strict=True))
    assert all(len({one.tool_call_id for one in call}) == 1 for call in calls)
    return [(begun.tool_call_name, args.delta, result.content) for begun, args, _, result in calls]


@pytest.mark.filterwarnings("ignore:`get_config_jsonschema` is deprecated")  # which the package calls
@pytest.mark.parametrize("kind", ["crew", "flow"])
def test_a_front_end_speaks_ag_ui_with_a_crew_and_a_flow(kind: str):
    made: Any = Ledger().crew() if kind == "crew" else PaysInvoices()
    placeholder = "invoice" if kind == "crew" else "question"
    front = FrontEnd(made.compile(messages=placeholder, name="team", checkpointer=InMemorySaver()))
    for number in ("1", "2"):
        front.messages = [*front.messages, {"id": f"m{number}", "role": "user", "content": number}]
        asked = front.run()
        (shown,) = [event.value for event in asked["CUSTOM"] if event.name == "on_interrupt"]
        assert f'"invoice": "{number}"' in shown.replace('\\"', '"') and tool_calls(asked) == []
        done = front.answer(asked) if number == "1" else front.run(command={"resume": "yes"})
        assert tool_calls(done) == [("pay", f'{{"invoice": "{number}"}}', f"paid {number}")]
        state = done["STATE_SNAPSHOT"][-1].snapshot
        assert state["output"] == f"{number} is paid"
        assert state["payment"]["raw"] == state["output"] if kind == "crew" else state["state"]["question"] == number
    assert [(one["role"], one["content"]) for one in front.messages] == [
        ("user", "1"),
        ("assistant", "1 is paid"),
        ("user", "2"),
        ("assistant", "2 is paid"),
    ]


@pytest.mark.filterwarnings("ignore:`get_config_jsonschema` is deprecated")
def test_a_front_end_answers_several_questions_and_cancels_some():
    sent = ("post", '{"to": "anna"}', "to anna")
    for statuses, calls in (
        (["resolved", "resolved"], [sent, ("post", '{"to": "bert"}', "to bert")]),
        (["resolved", "cancelled"], [sent]),
        (["cancelled", "cancelled"], []),
    ):
        front = FrontEnd(posting().compile(messages=True, checkpointer=InMemorySaver()))
        front.messages = [{"id": "m", "role": "user", "content": "Post."}]
        done = front.answer(front.run(), *statuses)
        assert sorted(tool_calls(done)) == calls and done["RUN_FINISHED"][-1].outcome is None
    front = FrontEnd(Posts().compile(messages="question", name="team", checkpointer=InMemorySaver()))
    front.messages = [{"id": "m", "role": "user", "content": "Post."}]
    done = front.answer(front.run(), "cancelled")
    assert tool_calls(done) == [] and done["RUN_FINISHED"][-1].outcome is None


class Depth(BaseModel):
    metres: int


class Fits(TypedDict, total=False):
    topic: str
    tell: Depth


def test_an_output_that_does_not_fit_the_state_around_a_crew_is_kept():
    with pytest.warns(UserWarning, match="does not fit `Depth` of the state around the crew"):
        graph = graph_of(Fits, {"crew": crew(task("tell", agent(ScriptedLLM(["deep"])))).compile()})
        assert graph.invoke({"topic": "x"})["tell"]["raw"] == "deep"
