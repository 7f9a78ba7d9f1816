"""Requests a minute: `RPMController` lets no more through than it is told.

A sliding window of time with room for so many requests, and the requests that wait for room in it.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from crewgraph.core.cancellation import when_given_up
from crewgraph.core.loops.bridge import acall, call
from crewgraph.errors import LimitReached
from crewgraph.overrides import overridable, override_of

__all__ = ["LoopWaiter", "OnWait", "RPMController", "Waiter", "Window", "await_slot", "wait_for_slot"]


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
        self._sent: deque[float] = deque()
        self._waiting: dict[Waiter | LoopWaiter, None] = {}
        self._admitted: dict[Waiter | LoopWaiter, None] = {}

    def join(self, waiter: Waiter | LoopWaiter) -> None:
        with self._lock:
            self._waiting[waiter] = None

    def turn(self, waiter: Waiter | LoopWaiter, most: int | None, seconds: float) -> float:
        """In how many seconds it will be this one's turn; 0 gives it its place."""
        with self._lock:
            now = time.monotonic()
            self._prune(now - seconds)
            at = now if most is None else self._turn_time(waiter, most, seconds, now)
            if at > now:
                return at - now
            self._admitted[waiter] = self._waiting.pop(waiter)
            return 0.0

    def _turn_time(self, waiter: Waiter | LoopWaiter, most: int, seconds: float, now: float) -> float:
        if len(self._sent) + len(self._admitted) + len(self._waiting) <= most:
            return now
        last = deque([*self._sent, *[now] * len(self._admitted)], maxlen=most)
        for other in tuple(self._waiting):
            at = last[0] + seconds if len(last) == most else now
            if other is waiter:
                return at
            last.append(max(at, now))
        raise AssertionError("who asks for its turn has joined")

    def _prune(self, since: float) -> None:
        while self._sent and self._sent[0] <= since:
            self._sent.popleft()
        for queue in (self._waiting, self._admitted):
            for gone in [one for one in tuple(queue) if one.is_gone]:
                queue.pop(gone, None)

    def record(self, waiter: Waiter | LoopWaiter) -> None:
        """The request is made now."""
        with self._lock:
            self._admitted.pop(waiter, None)
            self._sent.append(time.monotonic())

    def leave(self, waiter: Waiter | LoopWaiter) -> None:
        """It is not made: the others move up."""
        with self._lock:
            self._waiting.pop(waiter, None)
            self._admitted.pop(waiter, None)
            self._wake()

    def forget(self) -> None:
        with self._lock:
            self._sent.clear()
            self._wake()

    def _wake(self) -> None:
        for other in tuple(self._waiting):
            other.wake()

    def __copy__(self) -> Self:
        return type(self)()

    def __deepcopy__(self, _: Any) -> Self:
        return type(self)()


OnWait = Callable[[float, int], None]
"""Is told of a request that has to wait: for about how many seconds, below which `max_rpm`."""


class RPMController(BaseModel):
    """Lets at most `max_rpm` model requests through in any minute; the others wait, in the order they came.

    May be shared between crews, threads and event loops. It runs no thread of its own. A request that is made again by a
    provider's client counts once.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    max_rpm: int | None = Field(default=None, ge=1)
    """The most requests a minute; None sets no bound."""

    seconds: float = Field(default=60.0, gt=0)
    """How long that minute is."""

    logger: Any = Field(default=None, exclude=True)
    """Without effect: waits are told by events."""

    _window: Window = PrivateAttr(default_factory=Window)

    @property
    def window(self) -> Window:
        """The requests it let through, and those that wait."""
        return self._window

    @overridable
    def check_or_wait(self) -> bool:
        """Wait until a request may be made, and count it; always True."""
        _wait([self], [], None)
        return True

    @overridable
    async def acheck_or_wait(self) -> bool:
        """The same on an event loop; a cancelled task gives its place back."""
        await _await([self], [], None)
        return True

    def reset_counter(self) -> Self:
        """Forget the requests made so far: who waits moves up."""
        self._window.forget()
        return self

    def stop_rpm_counter(self) -> None:
        """Nothing: there is no thread to stop. Programs written for CrewAI call it at their end."""


def wait_for_slot(controllers: Sequence[Any], told: OnWait | None = None) -> None:
    """Wait until every controller lets a request through, and count it; KeyboardInterrupt gives the places back.

    Args:
        controllers: `RPMController`s and other objects with `check_or_wait()`.
        told: is told once, if the request has to wait.

    Raises:
        LimitReached: nobody waits for the request's answer any longer (`max_execution_time`).
    """
    _wait(*_partition(controllers), told)


async def await_slot(controllers: Sequence[Any], told: OnWait | None = None) -> None:
    """The same on an event loop; cancellation gives the places back."""
    await _await(*_partition(controllers), told)


def _wait(own: Sequence[RPMController], others: Sequence[Any], told: OnWait | None) -> None:
    waiter = Waiter()
    with when_given_up(waiter.give_up), _counted_request(own, waiter):
        for seconds in _acquire(own, waiter, told):
            waiter.sleep(seconds)
        for other in others:
            call(other.check_or_wait)


async def _await(own: Sequence[RPMController], others: Sequence[Any], told: OnWait | None) -> None:
    waiter = LoopWaiter()
    with _counted_request(own, waiter):
        for seconds in _acquire(own, waiter, told):
            await waiter.sleep(seconds)
        for other in others:
            await acall(_async_check(other))


def _partition(controllers: Sequence[Any]) -> tuple[list[RPMController], list[Any]]:
    """Ours, and those that know only how to wait.

    The narrowest comes first: who waits for it holds no place of a wider one, and all take their places in the same order.
    """
    own = {id(one): one for one in controllers if _is_native(one)}
    others = {id(one): one for one in controllers if not _is_native(one)}
    return sorted(own.values(), key=_rate), list(others.values())


def _is_native(controller: Any) -> bool:
    """Whether it waits as ours do, in both faces."""
    faces = ("check_or_wait", "acheck_or_wait")
    return isinstance(controller, RPMController) and not any(override_of(controller, face) for face in faces)


def _async_check(controller: Any) -> Callable[[], Any]:
    # A subclass of ours may have overridden the other face alone.
    return override_of(controller, "acheck_or_wait") or controller.check_or_wait


def _rate(controller: RPMController) -> tuple[float, int]:
    rate = float("inf") if controller.max_rpm is None else controller.max_rpm / controller.seconds
    return rate, id(controller)


def _acquire(
    controllers: Sequence[RPMController], waiter: Waiter | LoopWaiter, told: OnWait | None
) -> Generator[float]:
    """The waits, in seconds, until the request has its place with all of them."""
    for one in controllers:
        one.window.join(waiter)
        while (seconds := one.window.turn(waiter, one.max_rpm, one.seconds)) > 0:
            if told is not None and one.max_rpm is not None:
                told(seconds, one.max_rpm)
                told = None
            yield seconds


@contextmanager
def _counted_request(controllers: Sequence[RPMController], waiter: Waiter | LoopWaiter) -> Generator[None]:
    """The request is made at the end of the block; if it fails, its places are given back."""
    try:
        yield
    except BaseException:
        for one in controllers:
            one.window.leave(waiter)
        raise
    for one in controllers:
        one.window.record(waiter)
