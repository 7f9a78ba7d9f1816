"""Stands in for a model where there is no key: it answers as a model did."""

from collections.abc import Sequence
from typing import Any

from crewgraph import ToolUse

__all__ = ["reply"]

USAGE = "Kaya Design used 41 of 50 seats in May. Two invoices are open, the older one since 12 April: 1,180.00 euros in all."
MAIL = (
    "Dear Elif,\n\nyour contract renews on 1 July. You use 41 of your 50 seats, so we suggest 45. Before that, could you have "
    "a look at the two open invoices, 1,180.00 euros in all? I am happy to go through them on the phone.\n\nKind regards\nTom"
)


def delegate(coworker: str, task: str, context: str) -> ToolUse:
    """What the manager asks a coworker for."""
    return ToolUse("Delegate_work_to_coworker", {"coworker": coworker, "task": task, "context": context})


def reply(messages: Sequence[dict[str, Any]]) -> str | ToolUse:
    """The manager asks the analyst, then the account manager, who sends a mail."""
    said = "\n".join(str(message.get("content")) for message in messages)
    role = str(messages[0].get("content"))
    if "You are Billing analyst" in role:
        return USAGE if "41 of 50" in said else ToolUse("usage_and_invoices", {"customer": "Kaya Design"})
    if "You are Account manager" in role:
        if "sent to" in said:
            return "I have written to Elif: 45 seats, and the open invoices."
        return ToolUse("send_mail", {"to": "elif@kaya-design.example", "text": MAIL})
    if "I have written to Elif" in said:
        return "Kaya Design has our renewal mail: 45 instead of 50 seats, with a request to settle 1,180.00 euros."
    if "41 of 50" in said:
        return delegate("Account manager", "Write to Kaya Design (Elif) about the renewal on 1 July", USAGE)
    return delegate(
        "Billing analyst", "How many seats does Kaya Design use, and what is open?", "Renewal on 1 July, 50 seats"
    )
