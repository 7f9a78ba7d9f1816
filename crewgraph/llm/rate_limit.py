"""Rate limiting: `RPMController` bounds the requests per minute with a sliding window.

A `Window` holds the recent requests and the queue of waiters, one waiter class each for threads and event loops.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from crewgraph.core.cancellation import when_given_up
from crewgraph.core.current import CURRENT
from crewgraph.core.loops.bridge import acall, call
from crewgraph.errors import LimitReached
from crewgraph.overrides import overridable, override_of


class Waiter:
    """A request that waits in a thread."""

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
            raise LimitReached("the request was not sent: nothing waits for its answer any longer")


class LoopWaiter:
    """A request that waits on an event loop."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def is_gone(self) -> bool:
        return self._loop.is_closed()  # closed without cancelling its tasks

    def wake(self) -> None:
        with suppress(RuntimeError):  # closed meanwhile
            self._loop.call_soon_threadsafe(self._event.set)

    async def sleep(self, seconds: float) -> None:
        alarm, underway = self._loop.call_later(seconds, self._event.set), CURRENT.get().underway
        try:
            with nullcontext() if underway is None else underway.pausing(self._event.set):
                await self._event.wait()
        finally:
            alarm.cancel()
        self._event.clear()


class Window:
    """A sliding window of sent requests, and a first-in, first-out queue of waiting ones.

    There is no timer: each waiter computes when its turn comes, sleeps until then and checks again, and is woken earlier if
    another one leaves. An admitted request keeps its slot while it waits for other windows; it counts from the moment it
    is sent.
    """

    def __init__(self) -> None:
        # Reentrant: an abandoned coroutine leaves the queue when it is garbage collected, which may happen on any line here.
        self._lock = threading.RLock()
        self._sent: deque[float] = deque()
        self._waiting: dict[Waiter | LoopWaiter, None] = {}
        self._admitted: dict[Waiter | LoopWaiter, None] = {}

    def join(self, waiter: Waiter | LoopWaiter) -> None:
        with self._lock:
            self._waiting[waiter] = None

    def turn(self, waiter: Waiter | LoopWaiter, limit: int | None, seconds: float) -> float:
        """Return the seconds until the waiter's turn; 0 admits it."""
        with self._lock:
            now = time.monotonic()
            self._prune(now - seconds)
            turn = now if limit is None else self._turn_time(waiter, limit, seconds, now)
            if turn > now:
                return turn - now
            self._admitted[waiter] = self._waiting.pop(waiter)
            return 0.0

    def _turn_time(self, waiter: Waiter | LoopWaiter, limit: int, seconds: float, now: float) -> float:
        if len(self._sent) + len(self._admitted) + len(self._waiting) <= limit:
            return now
        last = deque([*self._sent, *[now] * len(self._admitted)], maxlen=limit)
        for other in tuple(self._waiting):
            turn = last[0] + seconds if len(last) == limit else now
            if other is waiter:
                return turn
            last.append(max(turn, now))
        raise AssertionError("a waiter must join before it asks for its turn")

    def _prune(self, since: float) -> None:
        while self._sent and self._sent[0] <= since:
            self._sent.popleft()
        for queue in (self._waiting, self._admitted):
            for waiter in [entry for entry in tuple(queue) if entry.is_gone]:
                queue.pop(waiter, None)

    def record(self, waiter: Waiter | LoopWaiter) -> None:
        """Record that the request is sent now."""
        with self._lock:
            self._admitted.pop(waiter, None)
            self._sent.append(time.monotonic())

    def leave(self, waiter: Waiter | LoopWaiter) -> None:
        """Give the slot back without sending; the other waiters move up."""
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

    def __deepcopy__(self, _: object) -> Self:
        return type(self)()


OnWait = Callable[[float, int], None]
"""Called when a request has to wait: with the approximate seconds, and the `max_rpm` that causes it."""


class RPMController(BaseModel):
    """Limits model requests to `max_rpm` in any minute; further requests wait in order of arrival.

    May be shared between crews, threads and event loops, and needs no thread of its own. Retries by a provider's client
    are not counted.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    max_rpm: int | None = Field(default=None, ge=1)
    """Maximum number of requests per minute; None for no limit."""

    seconds: float = Field(default=60.0, gt=0)
    """Length of the window in seconds."""

    logger: Any = Field(default=None, exclude=True)
    """Has no effect: waits are reported by events."""

    _window: Window = PrivateAttr(default_factory=Window)

    @property
    def window(self) -> Window:
        """The sent requests, and those that wait."""
        return self._window

    @overridable
    def check_or_wait(self) -> bool:
        """Wait until a request may be sent and count it; always return True."""
        _wait_in_thread([self], [], None)
        return True

    @overridable
    async def acheck_or_wait(self) -> bool:
        """Async version of `check_or_wait`; cancellation gives the slot back."""
        await _await_on_loop([self], [], None)
        return True

    def reset_counter(self) -> Self:
        """Forget the requests sent so far, so that waiters move up."""
        self._window.forget()
        return self

    def stop_rpm_counter(self) -> None:
        """Do nothing: there is no thread to stop. CrewAI programs call this when they end."""


def wait_for_slot(controllers: Sequence[object], on_wait: OnWait | None = None) -> None:
    """Wait until all controllers admit a request and count it; KeyboardInterrupt gives the slots back.

    Args:
        controllers: `RPMController`s and other objects with `check_or_wait()`.
        on_wait: Called once if the request has to wait.

    Raises:
        LimitReached: Nothing waits for the answer any longer (`max_execution_time`).
    """
    _wait_in_thread(*_partition(controllers), on_wait)


async def await_slot(controllers: Sequence[object], on_wait: OnWait | None = None) -> None:
    """Async version of `wait_for_slot`; cancellation gives the slots back."""
    await _await_on_loop(*_partition(controllers), on_wait)


def _wait_in_thread(native: Sequence[RPMController], others: Sequence[Any], on_wait: OnWait | None) -> None:
    waiter = Waiter()
    with when_given_up(waiter.give_up), _counted_request(native, waiter):
        for seconds in _acquire(native, waiter, on_wait):
            waiter.sleep(seconds)
        for other in others:
            call(other.check_or_wait)


async def _await_on_loop(native: Sequence[RPMController], others: Sequence[object], on_wait: OnWait | None) -> None:
    waiter = LoopWaiter()
    with _counted_request(native, waiter):
        for seconds in _acquire(native, waiter, on_wait):
            await waiter.sleep(seconds)
        for other in others:
            await acall(_async_check(other))


def _partition(controllers: Sequence[Any]) -> tuple[list[RPMController], list[Any]]:
    """Split controllers into native ones, lowest rate first, and others.

    The order lets a request wait for the lowest rate without holding slots elsewhere, and is the same for all requests.
    """
    native = {id(controller): controller for controller in controllers if _is_native(controller)}
    others = {id(controller): controller for controller in controllers if not _is_native(controller)}
    return sorted(native.values(), key=_rate), list(others.values())


def _is_native(controller: object) -> bool:
    """Return whether a controller is an `RPMController` whose methods are not overridden."""
    methods = ("check_or_wait", "acheck_or_wait")
    return isinstance(controller, RPMController) and not any(override_of(controller, method) for method in methods)


def _async_check(controller: Any) -> Callable[[], object]:
    # A subclass may override only the sync method.
    return override_of(controller, "acheck_or_wait") or controller.check_or_wait


def _rate(controller: RPMController) -> tuple[float, int]:
    rate = float("inf") if controller.max_rpm is None else controller.max_rpm / controller.seconds
    return rate, id(controller)


def _acquire(
    controllers: Sequence[RPMController], waiter: Waiter | LoopWaiter, on_wait: OnWait | None
) -> Generator[float]:
    """Yield the waits, in seconds, until all controllers admit the request."""
    for controller in controllers:
        controller.window.join(waiter)
        while (seconds := controller.window.turn(waiter, controller.max_rpm, controller.seconds)) > 0:
            if on_wait is not None and controller.max_rpm is not None:
                on_wait(seconds, controller.max_rpm)
                on_wait = None
            yield seconds


@contextmanager
def _counted_request(controllers: Sequence[RPMController], waiter: Waiter | LoopWaiter) -> Generator[None]:
    """Count the request as sent at the end of the block; give its slots back if the block fails."""
    try:
        yield
    except BaseException:  # also Ctrl-C and a cancellation: the slots are given back
        for controller in controllers:
            controller.window.leave(waiter)
        raise
    for controller in controllers:
        controller.window.record(waiter)
