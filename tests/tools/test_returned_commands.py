"""A tool that returns a LangGraph `Command` ends the run, and is not called again."""

from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId
from langchain_core.tools import tool as langchain_tool
from langgraph.types import Command
from modes import Mode
from runtime.parts import agent, crew, task

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.errors import ToolFailed
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


def test_a_tool_that_says_so_is_refused_by_the_agents_definition():
    def hand_off(to: str) -> Command[Any]:
        """Hand off."""
        return Command(goto=to)

    def hand_offs(to: str) -> list[Command[Any]]:
        """Hand off."""
        return [Command(goto=to)]

    for function in (hand_off, hand_offs):
        for made in (tool(function), langchain_tool(function), function):
            with pytest.raises(ValueError, match=f"the tool `{function.__name__}` returns a LangGraph `Command` by"):
                agent(ScriptedLLM([]), tools=[made])
