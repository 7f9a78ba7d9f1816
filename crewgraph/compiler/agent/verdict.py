"""A person's replies to a question about tool calls, read as a verdict."""

import json
from collections.abc import Sequence
from typing import Any

from crewgraph.schema import PlainDict, PlainMapping, is_mapping

__all__ = ["NO", "YES", "decisions_of", "parse_verdict"]


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
    if is_mapping(reply):
        if "decisions" in reply:
            return reply
        if isinstance(reply.get("type"), str):
            return {"decisions": [reply]}
    if isinstance(reply, (list, tuple)):
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
