"""How often a tool may be used."""

from threading import Lock
from typing import Protocol

from crewgraph.errors import LimitReached

__all__ = ["Counted", "UsageLimitReached", "claim"]

_lock = Lock()
"""One for all tools: a tool must stay copyable, and the count is the only thing done under it."""


class UsageLimitReached(LimitReached):
    """A tool was used as often as its `max_usage_count` allows."""


class Counted(Protocol):
    """Something with a count of uses."""

    name: str
    max_usage_count: int | None
    current_usage_count: int


def claim(tool: Counted) -> None:
    """Count one more use, before it happens.

    Raises:
        UsageLimitReached: There is none left; nothing is counted.
    """
    with _lock:
        if tool.max_usage_count is not None and tool.current_usage_count >= tool.max_usage_count:
            times = "once" if tool.max_usage_count == 1 else f"{tool.max_usage_count} times"
            raise UsageLimitReached(f"`{tool.name}` may be used {times} and has been. Go on without it.")
        object.__setattr__(tool, "current_usage_count", tool.current_usage_count + 1)  # it may be frozen
