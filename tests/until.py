"""Waiting for a thing itself, where a time in which it should have happened would be a guess about the machine."""

import asyncio
import time
from collections.abc import Callable

__all__ = ["LONG", "auntil", "until"]

LONG = 60.0
"""In seconds, what no machine takes for what a test waits for: it only keeps a test that hangs from hanging for ever."""

_PAUSE = 0.005


def until(happened: Callable[[], object], seconds: float = LONG) -> None:
    """Wait, on a thread, until a condition holds; an AssertionError if it never does."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(_PAUSE)


async def auntil(happened: Callable[[], object], seconds: float = LONG) -> None:
    """The same on an event loop."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(_PAUSE)
