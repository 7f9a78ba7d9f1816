"""Stands in for a model where there is no key: it answers as a model did."""

import re
from collections.abc import Sequence
from typing import Any

from crewgraph import ToolUse

__all__ = ["reply"]

SUMMARIES = {
    "C-11": "6,580 euros a year, renews on 1 September 2026. In daily use by all shops, reliable.",
    "C-14": "18,200 euros a year, notice by 31 July 2026. Needed, but the price rose by 9 % twice, and others offer 12 % less.",
    "C-17": "3,400 euros a year, notice by 15 July 2026. Not used since March.",
    "C-20": "74,000 euros a year, notice by 31 October 2026. The price is tied to an index until the end of 2026.",
}
DECISIONS = {
    "C-11": "Renew: in use everywhere, and no cheaper offer is known.",
    "C-14": "Renegotiate before 31 July: ask for 12 % less, with the two other offers in hand.",
    "C-20": "Renew, and ask for a fixed price for 2027 before the notice date.",
}
NOTICE = "We give notice: leaflets were stopped in March and will not come back."


def reply(messages: Sequence[dict[str, Any]]) -> str | ToolUse:
    """Sum a contract up, then decide; giving notice is a tool, which a person has to allow."""
    said = "\n".join(str(message.get("content")) for message in messages)
    number = re.findall(r"C-\d+", said)[0]
    if "Decide about" not in said:
        return SUMMARIES[number]
    if number in DECISIONS:
        return DECISIONS[number]
    if "notice given" in said:
        return "Ended: notice was given, nothing has been ordered since March."
    return ToolUse("give_notice", {"contract": number, "reason": NOTICE})
