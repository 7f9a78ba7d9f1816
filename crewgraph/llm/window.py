"""A sliding window of time with room for so many requests, and the requests that wait for room in it."""

import asyncio
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any, Self

from crewgraph.errors import LimitReached

__all__ = ["LoopWaiter", "Waiter", "Window"]


class Waiter:
    """A request that waits on a thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._given_up = False

    @property
    def is_gone(self) -> bool:
        return False

    def wake(self) -> None:
        self._event.set()

    def give_up(self) -> None:
        self._given_up = True
        self._event.set()

    def sleep(self, seconds: float) -> None:
        self._event.wait(seconds)
        self._event.clear()
        if self._given_up:
            raise LimitReached("the request is not made: nobody waits for its answer any longer")


class LoopWaiter:
    """A request that waits on an event loop."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def is_gone(self) -> bool:
        return self._loop.is_closed()  # without having cancelled what ran on it

    def wake(self) -> None:
        with suppress(RuntimeError):  # closed meanwhile
            self._loop.call_soon_threadsafe(self._event.set)

    async def sleep(self, seconds: float) -> None:
        alarm = self._loop.call_later(seconds, self._event.set)
        try:
            await self._event.wait()
        finally:
            alarm.cancel()
        self._event.clear()


class Window:
    """The requests of the last seconds, and those that wait, in the order they came.

    Nobody but the waiting ones looks at the clock: each knows when its turn will be, sleeps until then and looks again, and
    is woken before if somebody leaves. A request that has its place and waits for another window's holds the place; it
    counts from the moment it is made.
    """

    def __init__(self) -> None:
        # A coroutine that nobody awaits any longer leaves when it is collected, which may happen inside of any line here.
        self._lock = threading.RLock()
        self._made: deque[float] = deque()
        self._waiting: dict[Waiter | LoopWaiter, None] = {}
        self._placed: dict[Waiter | LoopWaiter, None] = {}

    def join(self, waiter: Waiter | LoopWaiter) -> None:
        with self._lock:
            self._waiting[waiter] = None

    def turn(self, waiter: Waiter | LoopWaiter, most: int | None, seconds: float) -> float:
        """In how many seconds it will be this one's turn; 0 gives it its place."""
        with self._lock:
            now = time.monotonic()
            self._tidy(now - seconds)
            at = now if most is None else self._at(waiter, most, seconds, now)
            if at > now:
                return at - now
            self._placed[waiter] = self._waiting.pop(waiter)
            return 0.0

    def _at(self, waiter: Waiter | LoopWaiter, most: int, seconds: float, now: float) -> float:
        if len(self._made) + len(self._placed) + len(self._waiting) <= most:
            return now
        last = deque([*self._made, *[now] * len(self._placed)], maxlen=most)
        for other in tuple(self._waiting):
            at = last[0] + seconds if len(last) == most else now
            if other is waiter:
                return at
            last.append(max(at, now))
        raise AssertionError("who asks for its turn has joined")

    def _tidy(self, since: float) -> None:
        while self._made and self._made[0] <= since:
            self._made.popleft()
        for queue in (self._waiting, self._placed):
            for gone in [one for one in tuple(queue) if one.is_gone]:
                queue.pop(gone, None)

    def make(self, waiter: Waiter | LoopWaiter) -> None:
        """The request is made now."""
        with self._lock:
            self._placed.pop(waiter, None)
            self._made.append(time.monotonic())

    def leave(self, waiter: Waiter | LoopWaiter) -> None:
        """It is not made: the others move up."""
        with self._lock:
            self._waiting.pop(waiter, None)
            self._placed.pop(waiter, None)
            self._wake()

    def forget(self) -> None:
        with self._lock:
            self._made.clear()
            self._wake()

    def _wake(self) -> None:
        for other in tuple(self._waiting):
            other.wake()

    def __copy__(self) -> Self:
        return type(self)()

    def __deepcopy__(self, _: Any) -> Self:
        return type(self)()
