"""Interrupts in tools: the run pauses, a person answers, and the run continues."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from modes import Mode, graph_of

from crewgraph import Crew, Flow, PendingCrew, ScriptedLLM, ToolUse, human_feedback, listen, start
from crewgraph.errors import RunError
from crewgraph.storage.checkpoints import SqliteCheckpointer
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


class Around(TypedDict, total=False):
    inputs: dict[str, Any]
    output: Any


class SlowSaver(InMemorySaver):
    """Stores a write some time after LangGraph has gone on."""

    def put_writes(self, *args: Any, **options: Any) -> None:
        time.sleep(0.05)
        super().put_writes(*args, **options)


def spender(approved: bool, paid: list[int], down: list[bool], tasks: int) -> Crew:
    def confirmed(amount: int) -> str:
        """Spend an amount."""
        if not approved and interrupt(f"Spend {amount}?") != "yes":
            return "refused"
        paid.append(amount)
        return "spent"

    def said(messages: list[dict[str, Any]]) -> Any:
        if len(paid) == 1 and down:
            down.clear()
            raise ConnectionError("the provider is down")
        is_first = "description of first" in str(messages)
        if len(paid) == (1 if is_first and tasks == 2 else 2):
            return "done"
        return ToolUse("confirmed", {"amount": 10**6 if paid else 1})

    tools: list[Any] = [tool(require_approval=True)(confirmed) if approved else tool(confirmed)]
    clerk = agent(ScriptedLLM(said), tools=tools, max_retry_limit=0)
    return crew(*(task(name, clerk, description=f"description of {name}") for name in ("first", "second")[:tasks]))


def reviewed(paid: list[int], down: list[bool]) -> Flow[Any]:
    class Reviewed(Flow[dict[str, Any]]):
        @start()
        @human_feedback(message="the first?")
        def first(self):
            return 1

        @listen(first)
        def between(self):
            if down:
                down.clear()
                raise ConnectionError("the provider is down")
            paid.append(1)

        @listen(between)
        @human_feedback(message="the second?")
        def second(self):
            return 2

        @listen(second)
        def last(self, feedback: Any):
            paid.append(10**6)

    return Reviewed()


@pytest.mark.parametrize("is_nested", [False, True], ids=["alone", "nested"])
@pytest.mark.parametrize("by_id", [False, True], ids=["value", "by-id"])
@pytest.mark.parametrize("fails", [False, True], ids=["whole", "fails"])
@pytest.mark.parametrize("asks", ["approval", "approvals", "tool", "tools", "flow"])
def test_an_answer_is_given_to_one_question_only(
    mode: Mode, asks: str, fails: bool, is_nested: bool, by_id: bool, tmp_path: Path
):
    paid, down = list[int](), [True] * fails
    made: Any = (
        reviewed(paid, down) if asks == "flow" else spender("approval" in asks, paid, down, 1 + asks.endswith("s"))
    )
    graph = made.compile(checkpointer=None if is_nested else SqliteCheckpointer(tmp_path / "runs.db"))
    if is_nested:
        graph = graph_of(Around, {"inner": graph}, checkpointer=SlowSaver())
    (question,) = mode.invoke(graph, {"inputs": {}}, AT)["__interrupt__"]
    answer: Any = Command(resume={question.id: "yes"} if by_id else "yes")
    with pytest.raises(ConnectionError) if fails else nullcontext():
        mode.invoke(graph, answer, AT)
    for again in (None, None, answer if by_id else None):  # LangGraph would hand the answer on
        assert "__interrupt__" in mode.invoke(graph, again, AT)
    assert paid == [1]
    assert "__interrupt__" not in mode.invoke(graph, Command(resume="yes"), AT)
    assert paid == [1, 10**6]
