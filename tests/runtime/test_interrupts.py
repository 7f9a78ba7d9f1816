"""Interrupts in tools: the run pauses, a person answers, and the run continues."""

from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from modes import Mode, graph_of

from crewgraph import Crew, PendingCrew, ScriptedLLM, ToolUse
from crewgraph.errors import RunError
from crewgraph.testing import record_events
from crewgraph.tools import tool

from .parts import agent, crew, task


class Outer(TypedDict, total=False):
    answer: str


AT: Any = {"configurable": {"thread_id": "t"}}


@tool
def ask(question: str) -> str:
    """Ask a person."""
    return f"they said {interrupt(question)}"


def asking(*script: Any, native: bool = False, **more: Any) -> tuple[Crew, ScriptedLLM]:
    llm = ScriptedLLM(list(script), native_tools=native)
    return crew(task("before", agent(ScriptedLLM(["ready"]))), task("asks", agent(llm, tools=[ask])), **more), llm


def test_a_kickoff_that_meets_a_question_says_what_is_asked_and_how_to_answer(mode: Mode):
    made, llm = asking(ToolUse("ask", {"question": "May I?"}), "done")
    waits = mode.kickoff(made, thread_id="t")
    assert str(waits) == "crew `crew` waits for an answer: May I?. Answer with `resume('t', ...)`."
    assert [output.raw for output in waits.tasks_output] == ["ready"]
    assert len(llm.requests) == 1
    assert mode.resume(made, "t", answer="yes").raw == "done"
    assert "Observation: they said yes" in llm.requests[1].text


def test_the_answer_given_through_the_graph_continues_the_run(mode: Mode):
    saver = InMemorySaver()
    made, llm = asking(ToolUse("ask", {"question": "May I?"}), "done", checkpointer=saver)
    assert isinstance(mode.kickoff(made, thread_id="t"), PendingCrew)
    graph = mode.compile(made, checkpointer=saver)
    state = mode.invoke(graph, Command(resume="yes"), AT)
    assert (state["before"]["raw"], state["asks"]["raw"]) == ("ready", "done")
    assert "Observation: they said yes" in llm.requests[1].text
    assert mode.resume(made, "t").raw == "done"
    assert len(llm.requests) == 2


def test_a_resume_without_an_answer_asks_again(mode: Mode):
    made, llm = asking(ToolUse("ask", {"question": "May I?"}), "done")
    waits = mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t") == waits
    assert len(llm.requests) == 1


def test_the_compiled_graph_stops_at_a_question_and_continues_with_its_answer(mode: Mode):
    made, llm = asking(ToolUse("ask", {"question": "May I?"}), "done")
    graph = mode.compile(made, checkpointer=InMemorySaver())
    stopped = mode.invoke(graph, {"inputs": {}}, AT)
    assert [one.value for one in stopped["__interrupt__"]] == ["May I?"]
    assert mode.state(graph, AT).next == ("asks",)
    assert mode.invoke(graph, Command(resume="yes"), AT)["asks"]["raw"] == "done"
    assert len(llm.requests) == 2


def test_a_question_in_a_crew_kicked_off_in_a_node_is_asked_by_the_graph_around_it(mode: Mode):
    made, llm = asking(ToolUse("ask", {"question": "May I?"}), "done")

    def node(_: Outer) -> Outer:
        return {"answer": ", ".join(one.raw for one in made.kickoff().tasks_output)}

    async def anode(_: Outer) -> Outer:
        return {"answer": ", ".join(one.raw for one in (await made.akickoff()).tasks_output)}

    compiled = graph_of(Outer, {"crew": anode if mode.asynchronous else node}, checkpointer=InMemorySaver())
    with record_events() as events:
        stopped = mode.invoke(compiled, {"answer": ""}, AT)
        assert [one.value for one in stopped["__interrupt__"]] == ["May I?"]
        assert mode.invoke(compiled, Command(resume="yes"), AT)["answer"] == "ready, done"
    assert len(llm.requests) == 2
    assert [event.type for event in events if "fail" in event.type or "error" in event.type] == []


def test_a_question_where_nothing_is_kept_is_refused_with_the_reason(mode: Mode):
    made, _ = asking(ToolUse("ask", {"question": "May I?"}), "done")
    with pytest.raises(RunError, match=r"crew `crew` asks a person: May I\?\. .* leave `checkpointer=False` out"):
        mode.kickoff(made, checkpointer=False)


@pytest.mark.parametrize("command", [Command(resume="yes"), Command(goto="asks"), Command(update={"inputs": None})])
def test_a_command_for_a_thread_without_a_run_asks_no_model(mode: Mode, command: Any):
    made, llm = asking("done")
    graph = mode.compile(made, checkpointer=InMemorySaver())
    for _ in range(2):
        with pytest.raises(
            RunError, match="no run in this thread that a `Command` could continue. Check the `thread_id`"
        ):
            mode.invoke(graph, command, AT)
    assert llm.requests == []
    begun = mode.invoke(graph, Command(update={"inputs": {}}), AT)
    assert begun["asks"]["raw"] == "done"
