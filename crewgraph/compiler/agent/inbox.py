"""Questions and answers in the forms of LangChain's inboxes.

Payloads and replies are those of LangChain's human-in-the-loop middleware (`action_requests`, `decisions`) and of Agent Inbox
(`action_request`, a list with one response). `ag-ui-langgraph` wraps several answers, or a cancellation, in keys of its own.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from crewgraph.schema import PlainDict, PlainMapping, is_list, is_mapping


def inbox_fields(text: str, tool: str | None, args: Mapping[str, object] | None, answer: str | None) -> PlainDict:
    """Return what inboxes read of a question.

    Args:
        text: the question.
        tool: the tool to approve; None for a question about an answer.
        args: the arguments of the call.
        answer: the answer to review.
    """
    if tool is None:
        action = {"name": "review_answer", "args": {"answer": answer}, "description": text}
        return inbox_payload([action], [["approve", "reject"]], may_ignore=False)
    action = {"name": tool, "args": dict(args or {}), "description": text}
    return inbox_payload([action], [["approve", "edit", "reject"]], may_ignore=True)


def inbox_payload(actions: Sequence[PlainDict], allowed: Sequence[list[str]], *, may_ignore: bool) -> PlainDict:
    """Return questions in the forms of both inboxes; Agent Inbox shows only one, the first.

    Args:
        actions: the name, the arguments and the description of each.
        allowed: the decisions that each accepts.
        may_ignore: whether Agent Inbox offers to ignore the first.
    """
    first, decisions = actions[0], allowed[0]
    return {
        "action_requests": actions,
        "review_configs": [
            {"action_name": action["name"], "allowed_decisions": kinds}
            for action, kinds in zip(actions, allowed, strict=True)
        ],
        "action_request": {"action": first["name"], "args": first["args"]},
        "config": {
            "allow_accept": "approve" in decisions,
            "allow_edit": "edit" in decisions,
            "allow_respond": True,
            "allow_ignore": may_ignore,
        },
        "description": first["description"],
    }


_ANSWERS, _CANCELLED = "__agui_resume_map__", "__agui_cancelled__"
IGNORE = {"type": "ignore"}


def of_front_end(resume: Any) -> Any:
    """Return the answers that `ag-ui-langgraph` resumes a run with, by interrupt id, and `IGNORE` for a cancelled question.

    Any other value is returned as it is.
    """
    if not is_mapping(resume):
        return resume
    if resume.get(_CANCELLED) is True:
        return IGNORE
    if not is_mapping(answers := resume.get(_ANSWERS)):
        return resume
    return {name: IGNORE if one["status"] == "cancelled" else one["payload"] for name, one in answers.items()}


def read_inbox_reply(reply: object, tool: str | None) -> object:
    """Return the reply of an inbox in crewgraph's own form; any other reply unchanged.

    A reply without a meaning for the question also stays unchanged, so that it is refused and the question repeated.

    Args:
        reply: the reply.
        tool: the tool to approve; None for a question about an answer.
    """
    decision = _decision_in(reply)
    if decision is None:
        return reply
    kind = decision.get("type")
    if kind in ("approve", "accept"):
        return True
    if kind == "edit" and tool is not None:
        return _edited(decision, tool) or reply
    if kind == "ignore" and tool is not None:
        return {"approved": False, "reason": ""}
    text = decision.get("message", decision.get("args"))
    if kind in ("reject", "respond", "response") and (text is None or isinstance(text, str)):
        if tool is not None:
            return {"approved": False, "reason": text or ""}
        return text or reply  # an answer is not refused without saying what to change
    return reply


def decisions_in(reply: object) -> list[PlainMapping]:
    """Return the decisions in a reply; none if it is not from an inbox."""
    if is_mapping(reply) and set(reply) == {"decisions"}:
        reply = reply["decisions"]
    entries = reply if is_list(reply) else [reply]
    decisions = [entry for entry in entries if is_mapping(entry) and isinstance(entry.get("type"), str)]
    return decisions if len(decisions) == len(entries) else []


def _decision_in(reply: object) -> PlainMapping | None:
    """Return the one decision in a reply; None if it is not from an inbox."""
    decisions = decisions_in(reply)
    return decisions[0] if len(decisions) == 1 else None


def _edited(decision: PlainMapping, tool: str) -> PlainDict | None:
    """Return the arguments of an edited call; None if it is one of another tool."""
    edited: object = decision.get("edited_action", decision.get("args"))
    if not is_mapping(edited) or edited.get("name", edited.get("action", tool)) != tool:
        return None
    args: object = edited.get("args")
    return {"args": dict(args)} if is_mapping(args) else None


YES = ("yes", "y", "ok", "okay", "true", "approve", "approved", "allow", "allowed")
NO = ("no", "n", "false", "deny", "denied", "refuse", "refused", "reject", "rejected")
_PUNCTUATION = " \t\r\n,.:;!-"


def parse_verdict(reply: object) -> bool | str | dict[str, object] | None:
    """Parse a person's reply: True allows, a string is the reason of a refusal, a dict holds other arguments.

    None if the reply is none of these.
    """
    if isinstance(reply, bool):
        return reply or ""
    if is_mapping(reply):
        return _verdict_of_dict(dict(reply))
    return _verdict_of_text(reply.strip()) if isinstance(reply, str) else None


def _verdict_of_dict(reply: PlainDict) -> bool | str | dict[str, object] | None:
    if (
        isinstance(reply.get("args"), dict)
        and set(reply) <= {"args", "approved"}
        and reply.get("approved", True) is True
    ):
        return reply["args"]
    if isinstance(reply.get("approved"), bool) and set(reply) <= {"approved", "reason"}:
        return reply["approved"] or str(reply.get("reason") or "")
    return None


def _verdict_of_text(reply: str) -> bool | str | dict[str, object] | None:
    if reply.startswith("{"):
        try:
            parsed: Any = json.loads(reply)
        except ValueError:
            return None
        return _verdict_of_dict(parsed) if set(parsed) & {"args", "approved"} else parsed
    if reply.strip(_PUNCTUATION).casefold() in YES:
        return True
    refusal = next((word for word in NO if _starts_with_word(reply, word)), None)
    return None if refusal is None else reply[len(refusal) :].strip(_PUNCTUATION)


def _starts_with_word(text: str, word: str) -> bool:
    return text.casefold().startswith(word) and (len(text) == len(word) or text[len(word)] in _PUNCTUATION)


def decisions_of(request: PlainMapping, reply: object) -> object:
    """Return a reply in the form that LangChain's human-in-the-loop middleware reads; unchanged if it has no meaning there.

    Args:
        request: the middleware's request, with its `action_requests`.
        reply: its own form, or a verdict as for `require_approval`, which is then one on each of the actions.
    """
    actions: Sequence[PlainMapping] = request["action_requests"]
    if reply == IGNORE:
        reply = False
    if is_mapping(reply):
        if "decisions" in reply:
            return reply
        if isinstance(reply.get("type"), str):
            return {"decisions": [reply]}
    if is_list(reply):
        return {"decisions": reply}
    verdict = parse_verdict(reply)
    if verdict is True:
        return {"decisions": [{"type": "approve"} for _ in actions]}
    if isinstance(verdict, str):
        message = {"message": verdict} if verdict else {}
        return {"decisions": [{"type": "reject", **message} for _ in actions]}
    if isinstance(verdict, dict) and len(actions) == 1:
        edited = {"name": actions[0]["name"], "args": verdict}
        return {"decisions": [{"type": "edit", "edited_action": edited}]}
    return reply
