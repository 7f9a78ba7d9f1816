"""What has been told already by a run that goes on within the same call, after somebody has answered its question.

The body of a task is played again then, from its first effect. Its effects are answered from the record; what it tells on the
way was told a moment ago, to the same audience.

Whether anybody watches a run through LangChain's callbacks: traces, streams, handlers of the user's own.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["REPORTED", "is_replayed", "is_traced", "report_once"]


T = TypeVar("T")

REPORTED: ContextVar[set[str] | None] = ContextVar("crewgraph_told", default=None)
"""The places in bodies at which something was told; None where nothing is told a second time, or where it is told anew."""

_AGAIN: ContextVar[bool] = ContextVar("crewgraph_told_again", default=False)


def is_replayed() -> bool:
    """Whether the running code tells what the audience has heard."""
    return _AGAIN.get()


def report_once(tell: Callable[[], T], place: str, told: set[str]) -> T:
    """Have something told at a place in a body; whoever tells finds out by `is_told_again` whether it was."""
    token = _AGAIN.set(place in told)
    told.add(place)
    try:
        return tell()
    finally:
        _AGAIN.reset(token)


def is_traced(config: Mapping[str, object]) -> bool:
    """Whether a config carries callback handlers; runs that nobody sees need not be opened."""
    callbacks = config.get("callbacks")
    return bool(getattr(callbacks, "handlers", callbacks))
