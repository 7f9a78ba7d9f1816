"""Stands in for a model where there is no key: it answers as a model did, if the passage that it needs stands in its prompt."""

from collections.abc import Sequence
from typing import Any

__all__ = ["reply"]

UNKNOWN = "The handbook does not say. Please ask the people team."
KNOWN = {
    "Denmark": (
        "daily allowance Denmark, day of arrival",
        "country: Denmark, daily allowance in euros: 60",
        "You get 30 euros. The daily allowance for Denmark is 60 euros, and half of it is paid on the day of arrival.",
    ),
    "laptop": (
        "stolen device, laptop, service desk",
        "Call the service desk at once",
        "Call the service desk under 4400 now, at any hour; they lock the laptop and end its sessions. Then report the theft to "
        "the police, and send the service desk the file number.",
    ),
    "night": (
        "on-call rest after work at night",
        "eleven hours of rest",
        "Eleven hours, if you worked between 22:00 and 06:00. They count as working time.",
    ),
    "Japan": ("daily allowance Japan", "country: Japan", "For Japan the daily allowance is 70 euros."),
}


def reply(messages: Sequence[dict[str, Any]]) -> str:
    """Word a query; then answer from the passages in the prompt, or say that they do not tell."""
    said = "\n".join(str(message.get("content")) for message in messages)
    query, passage, answer = next(
        (KNOWN[word] for word in KNOWN if word in said.partition("Possibly relevant passages")[0]), ("", "?", "")
    )
    if "one short search query" in said:
        return query or "handbook"
    return answer if passage in said else UNKNOWN
