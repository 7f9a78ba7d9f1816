"""Questions of crews in people's inboxes: the forms of LangChain's human-in-the-loop middleware and of Agent Inbox."""

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from modes import Mode

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.tools import tool

from .parts import agent, crew, task

AT: RunnableConfig = {"configurable": {"thread_id": "t"}}


class Office:
    """A crew that pays an invoice, with an approval, or writes a letter that a person reviews."""

    def __init__(self, *, reviewed: bool = False) -> None:
        self.paid: list[int] = []
        self.reviewed = reviewed

    def crew(self) -> Crew:
        @tool(require_approval=True)
        def pay(euros: int) -> str:
            """Pay an amount."""
            self.paid.append(euros)
            return f"paid {euros}"

        def reply(messages: list[dict[str, Any]]) -> Any:
            said = str(messages[2:])
            if self.reviewed:
                return "Final Answer: shorter" if "make it shorter" in said else "Final Answer: long"
            return "Final Answer: done" if "Action: pay" in said else ToolUse("pay", {"euros": 5})

        clerk = agent(ScriptedLLM(reply), "Clerk", tools=[] if self.reviewed else [pay])
        return crew(task("work", clerk, human_input=self.reviewed))


def asked(mode: Mode, office: Office) -> tuple[Any, Any]:
    graph = mode.compile(office.crew(), checkpointer=InMemorySaver())
    out = mode.invoke(graph, {}, AT)
    return graph, out["__interrupt__"][0].value


def test_a_question_about_a_tool_says_what_inboxes_read(mode: Mode):
    _, value = asked(mode, Office())
    assert value["action_requests"] == [{"name": "pay", "args": {"euros": 5}, "description": value["text"]}]
    assert value["review_configs"] == [{"action_name": "pay", "allowed_decisions": ["approve", "edit", "reject"]}]
    assert value["action_request"] == {"action": "pay", "args": {"euros": 5}}
    assert value["config"] == {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True}
    assert (value["kind"], value["tool"], value["args"]) == ("approval", "pay", {"euros": 5})


def test_a_question_about_an_answer_says_what_inboxes_read(mode: Mode):
    _, value = asked(mode, Office(reviewed=True))
    assert value["action_request"] == {"action": "review_answer", "args": {"answer": "long"}}
    assert value["config"] == {"allow_accept": True, "allow_edit": False, "allow_respond": True, "allow_ignore": False}
    assert value["review_configs"][0]["allowed_decisions"] == ["approve", "reject"]


APPROVED = [{"decisions": [{"type": "approve"}]}, [{"type": "accept", "args": None}], {"type": "accept"}]
EDITED = [
    {"decisions": [{"type": "edit", "edited_action": {"name": "pay", "args": {"euros": 3}}}]},
    [{"type": "edit", "args": {"action": "pay", "args": {"euros": 3}}}],
]
REFUSED = [
    {"decisions": [{"type": "reject", "message": "too much"}]},
    {"decisions": [{"type": "reject"}]},
    [{"type": "response", "args": "too much"}],
    [{"type": "ignore", "args": None}],
]
CASES = [
    *[(reply, [5]) for reply in APPROVED],
    *[(reply, [3]) for reply in EDITED],
    *[(reply, list[int]()) for reply in REFUSED],
]


@pytest.mark.parametrize(("reply", "paid"), CASES, ids=lambda value: str(value)[:60])
@pytest.mark.parametrize("way", ["graph", "crew"])
def test_what_an_inbox_replies_about_a_tool_is_understood(mode: Mode, reply: Any, paid: list[int], way: str):
    office = Office()
    if way == "graph":
        graph, _ = asked(mode, office)
        out = mode.invoke(graph, Command(resume=reply), AT)
        assert "__interrupt__" not in out
    else:
        made, saver = office.crew(), InMemorySaver()
        mode.kickoff(made, thread_id="t", checkpointer=saver)
        assert mode.run(made.resume, made.aresume, "t", reply, checkpointer=saver).raw == "done"
    assert office.paid == paid


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ({"decisions": [{"type": "approve"}]}, "long"),
        ([{"type": "accept", "args": None}], "long"),
        ({"decisions": [{"type": "reject", "message": "make it shorter"}]}, None),
        ([{"type": "response", "args": "make it shorter"}], None),
    ],
    ids=["approve", "accept", "reject", "response"],
)
def test_what_an_inbox_replies_about_an_answer_is_understood(mode: Mode, reply: Any, answer: str | None):
    graph, _ = asked(mode, Office(reviewed=True))
    out = mode.invoke(graph, Command(resume=reply), AT)
    if answer is None:  # the new answer is reviewed, too
        assert out["__interrupt__"][0].value["answer"] == "shorter"
        out = mode.invoke(graph, Command(resume=True), AT)
        answer = "shorter"
    assert out["output"] == answer


WITHOUT_MEANING: list[tuple[bool, Any]] = [
    (False, {"decisions": [{"type": "edit", "edited_action": {"name": "other", "args": {"euros": 3}}}]}),
    (False, {"decisions": [{"type": "approve"}, {"type": "approve"}]}),
    (False, [{"type": "edit", "args": "more"}]),
    (True, {"decisions": [{"type": "edit", "edited_action": {"name": "x", "args": {}}}]}),
    (True, {"decisions": [{"type": "reject"}]}),
    (True, [{"type": "ignore", "args": None}]),
]


@pytest.mark.parametrize(
    ("reviewed", "reply"),
    WITHOUT_MEANING,
    ids=["another tool", "two decisions", "no arguments", "edited answer", "no text", "ignored answer"],
)
def test_a_reply_without_a_meaning_leaves_the_question_open(mode: Mode, reviewed: bool, reply: Any):
    office = Office(reviewed=reviewed)
    graph, value = asked(mode, office)
    again = mode.invoke(graph, Command(resume=reply), AT)["__interrupt__"][0].value
    assert "cannot be taken" in again["refused"]
    assert again["action_request"] == value["action_request"]
    assert office.paid == []
    assert mode.invoke(graph, Command(resume=True), AT)["output"] in ("done", "long")
