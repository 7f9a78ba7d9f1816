"""Stands in for a model where there is no key: it answers as a model did, and goes by what it is told in the conversation."""

from collections.abc import Sequence
from typing import Any

__all__ = ["reply"]

KINDS = {
    "LO-5531": '```json\n{"kind": "return", "urgent": false, "summary": "Wants a refund for a lamp whose arm is loose."}\n```',
    "LO-4980": '{"kind": "fault", "urgent": true, "summary": "The motor of a standing desk has failed."}',
    "LO-5602": '{"kind": "injury", "urgent": true, "summary": "A glass shelf shattered and injured a child."}',
}
DECISIONS = {
    "LO-5531": "Accept the return. The lamp was delivered 12 days ago, which is within 30 days. 129.00 euros are refunded within "
    "14 days of the parcel's arrival.",
    "LO-4980": "The desk was delivered 96 days ago and is covered for two years. Collect it and repair it at no cost.",
}
DRAFTS = {
    "LO-5531": "Dear Ada Brandt,\n\nI am sorry that the lamp lets you down. You can return it, and we refund 129.00 euros within "
    "14 days of its arrival.{order}{note}\n\nKind regards\nLumen & Oak",
    "LO-4980": "Dear Mikkel Holm,\n\nI am sorry about the motor. We collect the desk and repair it, at no cost to you."
    "{order}{note}\n\nKind regards\nLumen & Oak",
}


def reply(messages: Sequence[dict[str, Any]]) -> str:
    """Sort the ticket, decide by the policy, write a letter; the first one forgets the order's number."""
    said = "\n".join(str(message.get("content")) for message in messages)
    order = next(number for number in KINDS if number in said)
    if "Sort the ticket" in said:
        return KINDS[order]
    if "Decide what we offer" in said:
        return DECISIONS[order]
    note = "\n\nYou will find a prepaid return label in the parcel." if "label" in said else ""
    named = f"\n\nPlease quote your order {order}." if "it does not name the order" in said or note else ""
    return DRAFTS[order].format(order=named, note=note)
