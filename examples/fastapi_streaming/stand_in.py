"""Stands in for a model where there is no key: it answers as a model did."""

from collections.abc import Sequence
from typing import Any

__all__ = ["reply"]

TIMELINE = """\
- 09:02 UTC: card payments begin to fail after the deployment of 4.18.0
- 09:14 UTC: first report by a customer, on call is paged
- 09:26 UTC: 4.18.0 is rolled back
- 09:31 UTC: error rate is back to normal; 1,140 of 8,300 payments had failed"""

UPDATE = (
    "Between 09:02 and 09:31 UTC today, about one in seven card payments failed. A new version of our payment service caused it; "
    "we have rolled it back, and payments work again. Nobody was charged for a payment that failed. We will publish what we "
    "change so that this does not happen again by Friday."
)


def reply(messages: Sequence[dict[str, Any]]) -> str:
    """Put the notes in order, then write the update."""
    said = "\n".join(str(message.get("content")) for message in messages)
    return UPDATE if "Write the update" in said else TIMELINE
