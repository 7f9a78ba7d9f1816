"""Replay within one call: a run that continues after its question was answered in the same process.

The body of the task then runs again from its first effect. Its effects are answered from the journal, and notifications that
the observers have already received must not be repeated.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TypeVar

from crewgraph.scoped import scoped

__all__ = ["REPORTED", "is_replayed", "is_traced", "report_once"]


T = TypeVar("T")

REPORTED: ContextVar[set[str] | None] = ContextVar("crewgraph_reported", default=None)
"""The places of the notifications sent so far; None where notifications cannot repeat, or should."""

_AGAIN: ContextVar[bool] = ContextVar("crewgraph_reported_again", default=False)


def is_replayed() -> bool:
    """Whether the running notification repeats one that the observers have received."""
    return _AGAIN.get()


def report_once(notify: Callable[[], T], place: str, reported: set[str]) -> T:
    """Run the notification of a place in a body; during it, `is_replayed` tells whether it ran before."""
    again = place in reported
    reported.add(place)
    if again is _AGAIN.get():
        return notify()
    with scoped(_AGAIN, again):
        return notify()


# Here and not in `tracing.py`, which imports LangChain: models and tools are declared without it.
def is_traced(config: Mapping[str, object]) -> bool:
    """Whether a config has callback handlers; without them, there is no trace."""
    callbacks = config.get("callbacks")
    return bool(getattr(callbacks, "handlers", callbacks))
