"""Rate limiting: `RPMController` bounds the requests per minute with a sliding window.

A `Window` holds the recent requests and the queue of those that wait; `taking_slot` is the program that waits in it.
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
from crewgraph.core.operations import Do, Program, adrive, drive, user_call
from crewgraph.errors import LimitReached
from crewgraph.overrides import overridable, override_of


class Waiter:
    """A request that waits, in a thread or on an event loop."""

    def __init__(self) -> None:
        self._woken, self._awoken = threading.Event(), asyncio.Event()
        self._is_given_up = False
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    @property
    def is_gone(self) -> bool:
        """Whether its event loop was closed without cancelling its tasks."""
        return self._loop is not None and self._loop.is_closed()

    def wake(self) -> None:
        """End its pause, or its next one; from any thread."""
        self._woken.set()
        if self._loop is not None:
            with suppress(RuntimeError):  # closed meanwhile
                self._loop.call_soon_threadsafe(self._awoken.set)

    def pause(self, seconds: float) -> Do:
        """Wait before the request is sent.

        Raises:
            LimitReached: Nothing waits for its answer any longer (`max_execution_time`).
        """
        return Do(self._pause, self._apause, seconds)

    def _pause(self, seconds: float) -> None:
        with when_given_up(self._give_up):
            self._woken.wait(seconds)
        self._woken.clear()
        if self._is_given_up:
            raise LimitReached("the request was not sent: nothing waits for its answer any longer")

    def _give_up(self) -> None:
        self._is_given_up = True
        self._woken.set()

    async def _apause(self, seconds: float) -> None:
        alarm = asyncio.get_running_loop().call_later(seconds, self._awoken.set)
        underway = CURRENT.get().underway
        try:
            with nullcontext() if underway is None else underway.pausing(self._awoken.set):
                await self._awoken.wait()
        finally:
            alarm.cancel()
        self._awoken.clear()


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
        self._waiting: dict[Waiter, None] = {}
        self._admitted: dict[Waiter, None] = {}

    def join(self, waiter: Waiter) -> None:
        with self._lock:
            self._waiting[waiter] = None

    def turn(self, waiter: Waiter, limit: int | None, seconds: float) -> float:
        """Return the seconds until the waiter's turn; 0 admits it."""
        with self._lock:
            now = time.monotonic()
            while self._sent and self._sent[0] <= now - seconds:
                self._sent.popleft()
            for queue in (self._waiting, self._admitted):
                for other in [entry for entry in tuple(queue) if entry.is_gone]:
                    queue.pop(other, None)
            turn = now if limit is None else self._turn_time(waiter, limit, seconds, now)
            if turn > now:
                return turn - now
            self._admitted[waiter] = self._waiting.pop(waiter)
            return 0.0

    def _turn_time(self, waiter: Waiter, limit: int, seconds: float, now: float) -> float:
        if len(self._sent) + len(self._admitted) + len(self._waiting) <= limit:
            return now
        last = deque([*self._sent, *[now] * len(self._admitted)], maxlen=limit)
        for other in tuple(self._waiting):
            turn = last[0] + seconds if len(last) == limit else now
            if other is waiter:
                return turn
            last.append(max(turn, now))
        raise AssertionError("a waiter must join before it asks for its turn")

    def record(self, waiter: Waiter) -> None:
        """Record that the request is sent now."""
        with self._lock:
            self._admitted.pop(waiter, None)
            self._sent.append(time.monotonic())

    def leave(self, waiter: Waiter) -> None:
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
        drive(_slot([self], []))
        return True

    @overridable
    async def acheck_or_wait(self) -> bool:
        """Async version of `check_or_wait`; cancellation gives the slot back."""
        await adrive(_slot([self], []))
        return True

    def reset_counter(self) -> Self:
        """Forget the requests sent so far, so that waiters move up."""
        self._window.forget()
        return self

    def stop_rpm_counter(self) -> None:
        """Do nothing: there is no thread to stop. CrewAI programs call this when they end."""


def taking_slot(controllers: Sequence[Any], on_wait: OnWait | None = None) -> Program[None]:
    """Wait until all controllers admit a request and count it; KeyboardInterrupt and cancellation give the slots back.

    Args:
        controllers: `RPMController`s and other objects with `check_or_wait()`.
        on_wait: Called once if the request has to wait.

    Raises:
        LimitReached: Nothing waits for the answer any longer (`max_execution_time`).
    """
    native = {id(controller): controller for controller in controllers if _is_native(controller)}
    others = {id(controller): controller for controller in controllers if not _is_native(controller)}
    # The order lets a request wait for the lowest rate without holding slots elsewhere, and is the same for all requests.
    return _slot(sorted(native.values(), key=_rate), list(others.values()), on_wait)


def _slot(native: Sequence[RPMController], others: Sequence[Any], on_wait: OnWait | None = None) -> Program[None]:
    waiter = Waiter()
    with _counted_request(native, waiter):
        for controller in native:
            controller.window.join(waiter)
            while (seconds := controller.window.turn(waiter, controller.max_rpm, controller.seconds)) > 0:
                if on_wait is not None and controller.max_rpm is not None:
                    on_wait(seconds, controller.max_rpm)
                    on_wait = None
                yield waiter.pause(seconds)
        for other in others:
            # A subclass may override only the sync method.
            yield user_call(other.check_or_wait, twin=override_of(other, "acheck_or_wait"))


def _is_native(controller: object) -> bool:
    """Return whether a controller is an `RPMController` whose methods are not overridden."""
    methods = ("check_or_wait", "acheck_or_wait")
    return isinstance(controller, RPMController) and not any(override_of(controller, method) for method in methods)


def _rate(controller: RPMController) -> tuple[float, int]:
    rate = float("inf") if controller.max_rpm is None else controller.max_rpm / controller.seconds
    return rate, id(controller)


@contextmanager
def _counted_request(controllers: Sequence[RPMController], waiter: Waiter) -> Generator[None]:
    """Count the request as sent at the end of the block; give its slots back if the block fails."""
    try:
        yield
    except BaseException:  # also Ctrl-C and a cancellation: the slots are given back
        for controller in controllers:
            controller.window.leave(waiter)
        raise
    for controller in controllers:
        controller.window.record(waiter)
