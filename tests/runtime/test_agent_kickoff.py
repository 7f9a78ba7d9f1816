"""Agents that answer a conversation, without a task and without a crew."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from modes import Mode, graph_of
from pydantic import BaseModel
from typing_extensions import TypedDict
from waiting import BlockedCall

from crewgraph import Agent, ScriptedLLM, ToolUse
from crewgraph.definitions.agent.output import LiteAgentOutput
from crewgraph.errors import CompileError, GuardrailFailed, TimeLimitReached
from crewgraph.events import LLMGuardrailCompletedEvent
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events
from crewgraph.tools import tool
from runtime.parts import agent, asked


class Tide(BaseModel):
    hour: int


@tool
def look(place: str) -> str:
    """Look at the sea."""
    return f"low water at {place}"


def replied(mode: Mode, one: Agent, *given: Any) -> LiteAgentOutput:
    return mode.run(one.kickoff, one.akickoff, *given)


def test_a_text_is_answered(mode: Mode):
    model = ScriptedLLM(["the moon"])
    output = replied(mode, agent(model, "Clerk {x}"), "what pulls?")
    assert (output.raw, str(output), output.agent_role, output.pydantic) == ("the moon", "the moon", "Clerk {x}", None)
    assert output.to_dict() == {} and output.usage_metrics == output.token_usage.model_dump()
    assert output.token_usage.successful_requests == 1
    ((system, user),) = [request.messages for request in model.requests]
    assert "You are Clerk {x}" in system["content"] and user == {"role": "user", "content": "what pulls?"}
    assert output.messages == [system, user, {"role": "assistant", "content": "the moon"}]


def test_messages_are_sent_in_their_order(mode: Mode):
    model = ScriptedLLM(["fine"])
    said = [
        {"role": "system", "content": "be kind"}, {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"},
    ]  # fmt: skip
    replied(mode, agent(model), said)
    system, *rest = model.requests[0].messages
    assert rest == said[1:]
    assert system["role"] == "system" and system["content"].endswith("\n\nbe kind") and "You are" in system["content"]


def test_messages_may_be_those_of_langchain(mode: Mode):
    model = ScriptedLLM(["fine"])
    replied(mode, agent(model), [HumanMessage("one"), AIMessage("two"), HumanMessage("three")])
    assert [(m["role"], m["content"]) for m in model.requests[0].messages[1:]] == [
        ("user", "one"),
        ("assistant", "two"),
        ("user", "three"),
    ]


def test_a_conversation_that_is_too_long_is_condensed(mode: Mode, caplog: pytest.LogCaptureFixture):
    too_long = ContextLengthExceeded("too long")
    script = [ToolUse("look", {"place": "the bay " * 100}), too_long, "saw low water", "low"]
    model = ScriptedLLM(script, native_tools=True)
    assert replied(mode, agent(model, tools=[look]), "how is the sea?").raw == "low"
    _, question = model.requests[-1].messages
    assert question["content"].startswith("how is the sea?\n\n") and "saw low water" in question["content"]
    assert "agent `worker`: the conversation was too long and was condensed" in caplog.text


@pytest.mark.parametrize("native", [True, False])
def test_tools_are_used_in_both_protocols(mode: Mode, native: bool):
    model = ScriptedLLM([ToolUse("look", {"place": "the bay"}), "Final Answer: low"], native_tools=native)
    steps: list[Any] = []
    output = replied(mode, agent(model, tools=[look], step_callback=steps.append), "how is the sea?")
    assert output.raw == "low" and output.token_usage.successful_requests == 2
    assert [type(step).__name__ for step in steps] == ["AgentAction", "AgentFinish"]
    assert "low water at the bay" in str(output.messages) and len(output.messages) == 5
    assert ("Action:" in str(output.messages[2]["content"])) is not native


def test_it_has_its_time(mode: Mode):
    reported = r"agent `worker`: not done after its `max_execution_time` of 0\.05"
    with BlockedCall() as late, pytest.raises(TimeLimitReached, match=reported):
        replied(mode, agent(ScriptedLLM(late), max_execution_time=0.05), "hurry")


def test_the_answer_is_given_as_a_model(mode: Mode):
    model = ScriptedLLM(['Here: {"hour": 7}'])
    output = replied(mode, agent(model), "when?", Tide)
    assert output.pydantic == Tide(hour=7) and output.to_dict() == {"hour": 7} and str(output) == output.raw
    assert "hour" in model.requests[0].messages[0]["content"] and len(model.requests) == 1


def test_the_model_is_asked_for_the_structure(mode: Mode):
    model, reader = ScriptedLLM(["at seven"]), ScriptedLLM(['{"hour": "x"}', '{"hour": 7}'])
    output = replied(mode, agent(model, function_calling_llm=reader), "when?", Tide)
    assert (output.raw, output.pydantic) == ("at seven", Tide(hour=7))
    assert output.token_usage.successful_requests == 3 and len(reader.requests) == 2


def test_without_a_structure_the_text_is_kept(mode: Mode, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        output = replied(mode, agent(ScriptedLLM(["never"] * 4)), "when?", Tide)
    assert output.raw == "never" and output.pydantic is None
    assert "agent `worker`: no structured output, the text is kept" in caplog.text


@pytest.mark.parametrize("structure", [None, Tide])
def test_a_guardrails_model_is_the_structure_of_the_answer(mode: Mode, structure: type[BaseModel] | None):
    class Depth(BaseModel):
        metres: int

    def judge(output: Any) -> tuple[bool, Any]:
        return True, Depth(metres=7)

    model = ScriptedLLM(["It is deep."])
    output = replied(mode, agent(model, guardrail=judge), "how deep?", structure)
    assert (output.raw, output.pydantic) == ("It is deep.", Depth(metres=7))
    assert len(model.requests) == 1


def test_a_refusal_continues_with_the_conversation(mode: Mode):
    seen: list[Any] = []

    def judge(output: Any) -> tuple[bool, str]:
        seen.append(output)
        return (True, f"{output.raw}!") if len(seen) == 2 else (False, "too short")

    model = ScriptedLLM([ToolUse("look", {"place": "the bay"}), "low", "very low"], native_tools=True)
    with record_events() as events:
        output = replied(mode, agent(model, tools=[look], guardrail=judge), "how is the sea?")
    assert output.raw == "very low!" and all(isinstance(one, LiteAgentOutput) for one in seen)
    last = model.requests[-1].messages
    assert [message["role"] for message in last] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert last[-2]["content"] == "low" and "too short" in last[-1]["content"]
    judged = [event.success for event in events if isinstance(event, LLMGuardrailCompletedEvent)]
    assert judged == [False, True] and output.token_usage.successful_requests == 3


def test_a_guardrail_that_refuses_every_attempt(mode: Mode):
    def judge(output: Any) -> tuple[bool, str]:
        return False, "never"

    strict = agent(ScriptedLLM(["no"] * 3), guardrail=judge, guardrail_max_retries=2)
    with pytest.raises(
        GuardrailFailed, match="agent `worker` failed guardrail validation after 2 retries. Last error: never"
    ):
        replied(mode, strict, "go")


def test_a_guardrail_may_be_a_text(mode: Mode):
    script = ["no", '{"valid": false, "feedback": "be polite"}', "no, please", '{"valid": true}']
    model = ScriptedLLM(script)
    output = replied(mode, agent(model, guardrail="Be polite"), "will it rain?")
    assert output.raw == "no, please" and output.token_usage.successful_requests == 4
    assert "Be polite" in model.requests[1].text and "will it rain?" in model.requests[1].text
    assert "be polite" in asked(model)[2]


class State(TypedDict, total=False):
    text: str


def replied_in(one: Agent, *given: Any) -> str:
    return one.kickoff(*given).raw


def around(work: Any, saver: Any) -> Any:
    def node(state: State) -> State:
        return {"text": work()}

    return graph_of(State, {"node": node}, checkpointer=saver)


def test_in_a_node_it_is_a_part_of_that_graph(mode: Mode, tmp_path: Path):
    model = ScriptedLLM([ToolUse("look", {"place": "the bay"}), "low", "high"], native_tools=True)
    one = agent(model, tools=[look])
    attempts: list[str] = []

    def work() -> str:
        attempts.append(one.kickoff("how is the sea?").raw)
        attempts.append(one.kickoff("and there?").raw)
        if len(attempts) == 2:
            raise ConnectionError("after both")
        return " ".join(attempts[-2:])

    config: Any = {"configurable": {"thread_id": "1"}}
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        app = around(work, saver)
        with pytest.raises(ConnectionError):
            mode.invoke(app, {}, config, durability="sync")
        assert mode.invoke(app, None, config, durability="sync")["text"] == "low high"
    assert attempts == ["low", "high"] * 2 and len(model.requests) == 3


def test_a_request_that_was_answered_is_not_made_again(mode: Mode, tmp_path: Path):
    model = ScriptedLLM([ToolUse("look", {"place": "the bay"}), ConnectionError("down"), "low"], native_tools=True)
    app_of = around
    config: Any = {"configurable": {"thread_id": "1"}}
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        app = app_of(lambda: replied_in(agent(model, tools=[look]), "how is the sea?"), saver)
        with pytest.raises(ConnectionError):
            mode.invoke(app, {}, config, durability="sync")
        assert mode.invoke(app, None, config, durability="sync")["text"] == "low"
    assert len(model.requests) == 3 and "low water" in model.requests[2].text


def test_a_question_is_the_surrounding_graphs(mode: Mode):
    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return str(interrupt(f"pay {amount}?"))

    model = ScriptedLLM([ToolUse("pay", {"amount": 7}), "paid"], native_tools=True)
    app = around(lambda: replied_in(agent(model, tools=[pay]), "pay"), InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    (question,) = mode.invoke(app, {}, config)["__interrupt__"]
    assert question.value == "pay 7?"
    assert mode.invoke(app, Command(resume={question.id: "yes"}), config)["text"] == "paid"
    assert len(model.requests) == 2 and "yes" in asked(model)[1]


def test_an_empty_question_is_passed_on(mode: Mode):
    empty: list[Any] = ["", []]
    for nothing in empty:
        assert replied(mode, agent(ScriptedLLM(["yes?"])), nothing).raw == "yes?"


def test_kickoff_may_be_awaited_where_a_loop_runs():
    async def both() -> list[str]:
        one: Any = agent(ScriptedLLM(["a", "b", "c"]))
        later = one.kickoff("1")
        return [(await later).raw, (await one.kickoff("2")).raw, one.kickoff("3").raw]

    assert asyncio.run(both()) == ["a", "b", "c"]


def test_results_of_tools_are_kept_with_the_agent(mode: Mode):
    for native in (True, False):
        worker = agent(ScriptedLLM([ToolUse("look", {"place": "bay"}), "done"], native_tools=native), tools=[look])
        assert replied(mode, worker, "look").raw == "done"
        assert worker.tools_results == [
            {"tool_name": "look", "tool_args": {"place": "bay"}, "result": "low water at bay"}
        ]


def test_who_has_no_tools_and_writes_a_call_is_told_and_asked_again(mode: Mode):
    model = ScriptedLLM(["Thought: x\nAction: search\nAction Input: {}", "Thought: fine\nFinal Answer: done"])
    assert replied(mode, agent(model), "go").raw == "done"
    assert "There is no tool `search`" in str(model.requests[-1].messages[-1]["content"])
    listed = "Action: call the port\nThen wait."
    assert replied(mode, agent(ScriptedLLM([listed])), "go").raw == listed


@pytest.mark.parametrize("field", [{"from_repository": "x"}])
def test_what_an_agent_cannot_do_yet_is_refused(mode: Mode, field: dict[str, Any]):
    (name,) = field
    with pytest.raises(CompileError, match=f"does not offer `{name}.*` of agent `worker`"):
        replied(mode, agent(ScriptedLLM([]), **field), "go")
