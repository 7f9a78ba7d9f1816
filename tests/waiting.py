"""Waiting for a condition, instead of sleeping for a guessed time."""

import asyncio
import time
from collections.abc import Callable
from threading import Event
from types import TracebackType
from typing import Self

__all__ = ["LIMITS", "LONG", "BlockedCall", "wait_until", "wait_until_async"]

LONG = 60.0
"""In seconds, what no machine takes for what a test waits for: it only keeps a test that hangs from hanging for ever."""

LIMITS = (0.3, 3.0, 30.0)
"""Bounds in seconds to try in turn: on a busy machine a short one may be over before anything has begun."""

_PAUSE = 0.005


def wait_until(happened: Callable[[], object], seconds: float = LONG) -> None:
    """Wait, on a thread, until a condition holds; an AssertionError if it never does."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(_PAUSE)


async def wait_until_async(happened: Callable[[], object], seconds: float = LONG) -> None:
    """The same on an event loop."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(_PAUSE)


class BlockedCall:
    """Work that blocks whoever does it until the end of a `with` block, and then gives "late".

    Whatever returns inside of the block has not waited for it.
    """

    def __init__(self) -> None:
        self.started, self.ended, self._released = Event(), Event(), Event()

    def __call__(self, *_: object) -> str:
        self.started.set()
        self._released.wait(LONG)
        self.ended.set()
        return "late"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        waited_for = self.ended.is_set()
        self._released.set()
        assert error is not None or not waited_for, "somebody waited for it, or it took for ever"
