"""Usage as it is counted and stored: sums by caller and model, as plain data."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, cast

from crewgraph.core.messages import Usage

__all__ = ["UsageCounter", "UsageEntry", "request_entry"]

UsageEntry = tuple[str, str, dict[str, int]]
"""The caller, the model and the sums by field, zeros left out; with "successful_requests"."""


def request_entry(who: str, model: str, usage: Usage | None) -> UsageEntry:
    """Return the entry of one answered request; `usage` is None if the provider reported none: it still counts."""
    if not usage:
        return who, model, {"successful_requests": 1}
    if usage.get("from_cache"):
        return who, model, {}
    tokens = {name: number for name, number in cast("Mapping[str, int]", usage).items() if number}
    return who, model, {**tokens, "successful_requests": 1}


_lock = Lock()  # one for all: sums are short, and a task has several counters


class UsageCounter:
    """Sums of usage by caller and model. Thread-safe."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], dict[str, int]] = {}

    def add(self, entries: Sequence[Any]) -> None:
        """Add entries, which records hold as lists."""
        with _lock:
            for who, model, tokens in entries:
                sums = self._sums.setdefault((who, model), {})
                for name, number in tokens.items():
                    sums[name] = sums.get(name, 0) + number

    @property
    def entries(self) -> list[UsageEntry]:
        """A copy of the sums so far, in the order of the first requests."""
        with _lock:
            return [(who, model, dict(sums)) for (who, model), sums in self._sums.items()]
