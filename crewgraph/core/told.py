"""What has been told already by a run that goes on within the same call, after somebody has answered its question.

The body of a task is played again then, from its first effect. Its effects are answered from the record; what it tells on the
way was told a moment ago, to the same audience.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["TOLD", "is_told_again", "told_once"]

T = TypeVar("T")

TOLD: ContextVar[set[str] | None] = ContextVar("crewgraph_told", default=None)
"""The places in bodies at which something was told; None where nothing is told a second time, or where it is told anew."""

_AGAIN: ContextVar[bool] = ContextVar("crewgraph_told_again", default=False)


def is_told_again() -> bool:
    """Whether the running code tells what the audience has heard."""
    return _AGAIN.get()


def told_once(tell: Callable[[], T], place: str, told: set[str]) -> T:
    """Have something told at a place in a body; whoever tells finds out by `is_told_again` whether it was."""
    token = _AGAIN.set(place in told)
    told.add(place)
    try:
        return tell()
    finally:
        _AGAIN.reset(token)
