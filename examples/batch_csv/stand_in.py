"""Stands in for a model where there is no key: it answers as a model did, and is not reached once, for L-305."""

import json
import re
import threading
from collections.abc import Sequence
from typing import Any

__all__ = ["reply"]

SCORES = {
    "L-301": (88, "sales", "Offer a four-week pilot, and ask for the SAP version."),
    "L-302": (8, "self-service", "Point to the free plan."),
    "L-303": (91, "sales", "Send the data processing agreement and the on-premise guide; book a call."),
    "L-304": (0, "spam", "No reply."),
    "L-305": (83, "sales", "Name the supported languages, and two references from the energy sector."),
    "L-306": (5, "support", "Hand over to billing: invoice 4471 was charged twice."),
    "L-307": (64, "sales", "Send prices for 50 seats, and ask what the comparison turns on."),
    "L-308": (15, "self-service", "Add to the newsletter."),
}

_down = threading.Event()


def reply(messages: Sequence[dict[str, Any]]) -> str | Exception:
    """Score the lead that the task names."""
    said = "\n".join(str(message.get("content")) for message in messages)
    number = re.findall(r"L-\d+", said)[0]
    if number == "L-305" and not _down.is_set():
        _down.set()
        return ConnectionError("the provider closed the connection")
    score, queue, step = SCORES[number]
    return json.dumps({"score": score, "queue": queue, "next_step": step})
