"""A tool that returns a LangGraph `Command` hands over in the graph around the crew; where there is none, it ends the run."""

import operator
from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import Command, interrupt
from modes import Mode
from runtime.parts import agent, crew, task

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.errors import ToolFailed
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import BaseTool, tool

ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


def going(returned: Any) -> dict[str, Any]:
    def go(to: str) -> Any:
        """Go."""
        ran.append(to)
        return returned

    async def ago(to: str) -> Any:
        """Go."""
        ran.append(to)
        return returned

    class Go(BaseTool):
        name: str = "go"
        description: str = "Go."

        def _run(self, to: str) -> Any:
            return go(to)

    @langchain_tool("go")
    def with_id(to: str, call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Go."""
        ran.append(to)
        return returned

    return {
        "function": tool("go")(go),
        "coroutine": tool("go")(ago),
        "class": Go(),
        "LangChain's": langchain_tool("go")(go),
        "LangChain's coroutine": langchain_tool("go")(ago),
        "LangChain's with the id of the call": with_id,
    }


def walking(one: Any, *, native: bool) -> Crew:
    llm = ScriptedLLM([ToolUse("go", {"to": "Brest"}), "done"], native_tools=native)
    return crew(task("t", agent(llm, tools=[one])))


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("kind", going(None))
def test_a_command_ends_the_run_and_a_resumed_one_does_not_call_the_tool_again(mode: Mode, kind: str, native: bool):
    made = walking(going(Command(goto="other"))[kind], native=native)
    with pytest.raises(ToolFailed, match="the tool `go` returned a LangGraph `Command`.*not obeyed"):
        mode.kickoff(made, thread_id="t")
    with pytest.raises(ToolFailed, match="the tool `go` returned a LangGraph `Command`"):
        mode.resume(made, "t")
    assert ran == ["Brest"]


@pytest.mark.parametrize(
    "returned",
    [
        [Command(goto="other"), "text"],
        {"next": Command(goto="other")},
        [ToolMessage("x", tool_call_id="1"), Command(update={"a": 1})],
    ],
)
def test_a_command_in_other_data_is_one(mode: Mode, returned: Any):
    with pytest.raises(ToolFailed, match="the tool `go` returned a LangGraph `Command`"):
        mode.kickoff(walking(going(returned)["function"], native=True))
    with pytest.raises(ToolFailed, match="the tool `go` returned a LangGraph `Command`"):
        mode.kickoff(walking(going(returned)["LangChain's"], native=True))


def test_other_calls_of_the_same_reply_are_recorded_too(mode: Mode):
    @tool
    def note(text: str) -> str:
        """Note."""
        ran.append(text)
        return "ok"

    script = [[ToolUse("note", {"text": "a"}), ToolUse("go", {"to": "Brest"})], "done"]
    one = agent(ScriptedLLM(script, native_tools=True), tools=[note, going(Command(goto="other"))["function"]])
    made = crew(task("t", one))
    for run in (lambda: mode.kickoff(made, thread_id="t"), lambda: mode.resume(made, "t")):
        with pytest.raises(ToolFailed, match="the tool `go` returned"):
            run()
    assert sorted(ran) == ["Brest", "a"]


def test_a_coworkers_command_ends_the_run(mode: Mode):
    hand = ToolUse("Delegate work to coworker", {"task": "go", "context": "x", "coworker": "Walker"})
    walker = agent(
        ScriptedLLM([ToolUse("go", {"to": "Brest"}), "done"]), "Walker", tools=[going(Command(goto="x"))["function"]]
    )
    boss = agent(ScriptedLLM([hand, "done"]), "Boss", allow_delegation=True)
    with pytest.raises(ToolFailed, match="the tool `go` returned"):
        mode.kickoff(Crew(agents=[boss, walker], tasks=[task("t", boss)]))


def test_a_tool_that_says_so_does_not_run_where_no_graph_is_around(mode: Mode):
    def hand_off(to: str) -> Command[Any]:
        """Hand off."""
        ran.append(to)
        return Command(goto=to)

    def hand_offs(to: str) -> list[Command[Any]]:
        """Hand off."""
        ran.append(to)
        return [Command(goto=to)]

    for function in (hand_off, hand_offs):
        name = function.__name__
        for made in (tool(function), langchain_tool(function), function):
            for kicked_off in (True, False):
                team = crew(task("t", agent(ScriptedLLM([ToolUse(name, {"to": "Brest"}), "done"]), tools=[made])))
                with pytest.raises(
                    ToolFailed, match=f"the tool `{name}` returns a LangGraph `Command` by.*was not called"
                ):
                    mode.kickoff(team) if kicked_off else mode.invoke(team.compile(), {})
    assert ran == []


AT: Any = {"configurable": {"thread_id": "t"}}


class Talk(MessagesState, total=False):
    active: str
    notes: Annotated[list[str], operator.add]
    output: Any


@langchain_tool
def transfer(state: Annotated[Any, InjectedState], call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Hand over to billing."""
    ran.append("transfer")
    told = ToolMessage("transferred", tool_call_id=call_id)
    update = {"messages": [*state["messages"], told], "active": "billing", "unknown": 1}
    return Command(graph=Command.PARENT, goto="billing", update=update)


@langchain_tool
def ask() -> str:
    """Ask."""
    return str(interrupt("?"))


def _bill(_: Any) -> Any:
    return {"messages": [AIMessage("billed")]}


def desk(*steps: Any, native: bool = True, tools: Sequence[Any] = (transfer, ask), **compiled: Any) -> Any:
    """A graph of the crew `desk`, to whose task another would follow, and of the node `billing`."""
    llm = ScriptedLLM([*steps, "Final Answer: desk"], native_tools=native)
    first = task("first", agent(llm, tools=list(tools)), description="Answer {question}")
    team = crew(first, task("second", agent(ScriptedLLM(["Final Answer: second"]), "Other")), name="desk")
    graph: Any = StateGraph(Talk)
    graph.add_node(team.compile(messages=True, **compiled))
    graph.add_node("billing", _bill)
    graph.add_edge(START, "desk")
    return graph


def said(state: Any) -> list[tuple[str, str]]:
    return [(message.type, message.content) for message in state["messages"]]


ASKED = {"messages": [HumanMessage("hello"), AIMessage("yes?"), HumanMessage("pay")]}
HANDED_OVER = [("ai", "yes?"), ("human", "pay"), ("ai", ""), ("tool", "transferred"), ("ai", "billed")]


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("granularity", ["task", "step"])
def test_a_tool_hands_over_to_a_node_of_the_graph_around_the_crew(mode: Mode, granularity: str, native: bool):
    for saver in (None, InMemorySaver()):
        graph = desk(ToolUse("transfer", {}), native=native, granularity=granularity)
        done = mode.invoke(graph.compile(checkpointer=saver), ASKED, {"configurable": {"thread_id": "t"}})
        found = [(kind, text if kind != "ai" or text in ("yes?", "billed") else "") for kind, text in said(done)[1:]]
        assert (found, done["active"], done.get("output")) == (HANDED_OVER, "billing", None)
        assert done["messages"][3].tool_calls[0]["id"] == done["messages"][4].tool_call_id


def test_a_resumed_run_hands_over_without_calling_the_tool_again(mode: Mode):
    for granularity in ("task", "step"):
        graph = desk([ToolUse("transfer", {}), ToolUse("ask", {})], granularity=granularity)
        app, at = graph.compile(checkpointer=SqliteCheckpointer(":memory:")), {"configurable": {"thread_id": "t"}}
        assert mode.invoke(app, ASKED, at)["__interrupt__"]
        assert said(mode.invoke(app, Command(resume="so"), at))[1:] == HANDED_OVER
    assert ran == ["transfer"] * 2


def test_a_coworkers_command_hands_over_too(mode: Mode):
    hand = ToolUse("Delegate work to coworker", {"task": "go", "context": "x", "coworker": "Walker"})
    go = going(Command(goto="billing", update=[("active", "b")]))["function"]
    walker = agent(ScriptedLLM([ToolUse("go", {"to": "Brest"}), "done"]), "Walker", tools=[go])
    boss = agent(ScriptedLLM([hand, "done"]), "Boss", allow_delegation=True)
    graph: Any = StateGraph(Talk)
    graph.add_node("desk", Crew(agents=[boss, walker], tasks=[task("t", boss)]).compile())
    graph.add_node("billing", _bill)
    graph.add_edge(START, "desk")
    done = mode.invoke(graph.compile(), {"messages": []})
    assert (said(done), done["active"]) == ([("ai", "billed")], "b")


@langchain_tool
def note(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Note."""
    ran.append(text)
    messages = [AIMessage(f"noted {text}"), ToolMessage(f"wrote {text}", tool_call_id=call_id)]
    return Command(update={"messages": messages, "active": text, "notes": [text]})


@pytest.mark.parametrize("granularity", ["task", "step"])
def test_updates_reach_the_state_of_the_graph_and_the_work_goes_on(mode: Mode, granularity: str):
    for node in (True, False):
        llm = ScriptedLLM(
            [[ToolUse("note", {"text": "a"}), ToolUse("ask", {})], ToolUse("note", {"text": "b"}), "Final Answer: c"]
        )
        first = task("first", agent(llm, tools=[note if node else say, ask]), description="Answer {question}")
        made = crew(first, task("second", agent(ScriptedLLM(["Final Answer: second"]), "Other")), name="desk")
        team: Any = made.compile(messages=True, granularity=granularity, checkpointer=None if node else InMemorySaver())
        graph: Any = StateGraph(Talk)
        graph.add_node(team)
        graph.add_edge(START, "desk")
        app = graph.compile(checkpointer=SqliteCheckpointer(":memory:")) if node else team
        assert mode.invoke(app, ASKED, AT)["__interrupt__"]
        done = mode.invoke(app, Command(resume="so"), AT)
        assert said(done)[3:] == [("ai", "noted a"), ("ai", "noted b"), ("ai", "second")]
        assert (done.get("active"), done.get("notes")) == (("b", ["a", "b"]) if node else (None, None))
        assert "wrote a" in str(llm.requests[1].messages) and ran == ["a", "b"]
        ran.clear()


@langchain_tool("note")
def say(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Note."""
    ran.append(text)
    return Command(
        update={"messages": [AIMessage(f"noted {text}"), ToolMessage(f"wrote {text}", tool_call_id=call_id)]}
    )


def test_an_update_of_a_key_that_no_state_has_is_refused_after_the_tool_has_run(mode: Mode):
    go = going(Command(update={"other": "b"}))["function"]
    graph = desk(ToolUse("go", {"to": "Brest"}), tools=[go])
    with pytest.raises(ToolFailed, match="the tool `go` returned a LangGraph `Command`.*not obeyed"):
        mode.invoke(graph.compile(), ASKED)
