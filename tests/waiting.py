"""Waiting for a condition, instead of sleeping for a guessed time."""

import asyncio
import time
from collections.abc import Callable
from threading import Event
from types import TracebackType
from typing import Any, Self

__all__ = ["LIMITS", "LONG", "BlockedCall", "stored_channels", "wait_until", "wait_until_async"]

LONG = 60.0
"""Seconds that no awaited condition needs on any machine; only ends tests that hang."""

LIMITS = (0.3, 3.0, 30.0)
"""Time limits in seconds to try in turn: on a busy machine a short one may pass before anything starts."""

_PAUSE = 0.005


def wait_until(happened: Callable[[], object], seconds: float = LONG) -> None:
    """Wait on a thread until a condition holds; raise AssertionError after the timeout."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(_PAUSE)


async def wait_until_async(happened: Callable[[], object], seconds: float = LONG) -> None:
    """Async version of `wait_until`."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(_PAUSE)


def stored_channels(saver: Any, thread_id: str) -> set[str]:
    """The channels that the nodes of a step under way have written: what such a node did is not done again."""
    found = saver.get_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
    return set() if found is None else {channel for _, channel, _ in found.pending_writes or ()}


class BlockedCall:
    """A function that blocks its caller until the end of a `with` block, and then returns "late".

    Code that returns inside the block has not waited for it.
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
