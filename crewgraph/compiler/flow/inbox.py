"""Questions of flows in the forms of LangChain's inboxes, and their replies.

Each waiting question is one action; Agent Inbox shows only one, the first. `approve` and `reject` select the outcomes of
`@human_feedback` with those names.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from crewgraph.compiler.agent.inbox import decisions_in, inbox_payload
from crewgraph.compiler.agent.verdict import NO, YES
from crewgraph.compiler.flow.asking import takes_anything
from crewgraph.definitions.flow.feedback import FEEDBACK_SUFFIX
from crewgraph.schema import PlainDict, PlainMapping

__all__ = ["answers_of_inbox", "flow_inbox_fields"]


def flow_inbox_fields(questions: Sequence[PlainMapping]) -> PlainDict:
    """Return the fields that inboxes read, for the questions that a flow waits on."""
    actions = [_action(question) for question in questions]
    allowed = [_allowed(question) for question in questions]
    return inbox_payload(actions, allowed, may_ignore="reject" in allowed[0])


def _action(question: PlainMapping) -> PlainDict:
    args: PlainDict = {} if question.get("output") is None else {"output": question["output"]}
    if question.get("outcomes"):
        args["outcomes"] = list(question["outcomes"])
    description = "\n".join(filter(None, [question.get("refused"), question["message"]]))
    return {"name": question["method"], "args": args, "description": description}


def _allowed(question: PlainMapping) -> list[str]:
    """Return the decisions that a question accepts; text is always one."""
    if not str(question["id"]).endswith(FEEDBACK_SUFFIX):
        return ["respond"]
    outcomes: Sequence[str] = question.get("outcomes") or ()
    approves = not outcomes or any(outcome.casefold() in YES for outcome in outcomes)
    rejects = not outcomes or any(outcome.casefold() in NO for outcome in outcomes)
    return [*(["approve"] if approves else []), *(["reject"] if rejects else []), "respond"]


def answers_of_inbox(questions: Mapping[str, PlainMapping], reply: object) -> dict[str, PlainDict] | None:
    """Return the answers in the reply of an inbox by question id; None if it is no such reply, or does not cover each question.

    An answer has a `text` and, unless that is all, the `decision`.

    Args:
        questions: the waiting questions by id, in order.
        reply: the reply.
    """
    decisions = decisions_in(reply)
    if not decisions or len(decisions) != len(questions) or any(map(takes_anything, questions)):
        return None
    answers: dict[str, PlainDict] = {}
    for name, decision in zip(questions, decisions, strict=True):
        answer = _answer(decision)
        if answer is None or "decision" in answer and not name.endswith(FEEDBACK_SUFFIX):
            return None
        answers[name] = answer
    return answers


def _answer(decision: PlainMapping) -> PlainDict | None:
    kind: Any = decision.get("type")
    text = decision.get("message", decision.get("args"))
    if kind in ("approve", "accept"):
        return {"text": "", "decision": "approve"}
    if text is not None and not isinstance(text, str):
        return None
    if kind in ("reject", "ignore"):
        return {"text": text or "", "decision": "reject"}
    return {"text": text or ""} if kind in ("respond", "response") else None
