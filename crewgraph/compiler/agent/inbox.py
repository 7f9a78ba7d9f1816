"""Questions and answers in the forms of LangChain's inboxes.

Payloads and replies are those of LangChain's human-in-the-loop middleware (`action_requests`, `decisions`) and of Agent Inbox
(`action_request`, a list with one response).
"""

from collections.abc import Mapping, Sequence

from crewgraph.schema import PlainDict, PlainMapping, is_list, is_mapping

__all__ = ["decisions_in", "inbox_fields", "inbox_payload", "read_inbox_reply"]


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
