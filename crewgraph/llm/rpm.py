"""Requests a minute: `RPMController` lets no more through than it is told."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from crewgraph.core.cancellation import when_given_up
from crewgraph.core.loops.bridge import acall, call
from crewgraph.llm.window import LoopWaiter, Waiter, Window
from crewgraph.own_version import ours, own_version

__all__ = ["RPMController", "Waiting", "await_room", "wait_for_room"]

Waiting = Callable[[float, int], None]
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

    @ours
    def check_or_wait(self) -> bool:
        """Wait until a request may be made, and count it; always True."""
        _wait([self], [], None)
        return True

    @ours
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


def wait_for_room(controllers: Sequence[Any], told: Waiting | None = None) -> None:
    """Wait until every controller lets a request through, and count it; KeyboardInterrupt gives the places back.

    Args:
        controllers: `RPMController`s and other objects with `check_or_wait()`.
        told: is told once, if the request has to wait.

    Raises:
        LimitReached: nobody waits for the request's answer any longer (`max_execution_time`).
    """
    _wait(*_parted(controllers), told)


async def await_room(controllers: Sequence[Any], told: Waiting | None = None) -> None:
    """The same on an event loop; cancellation gives the places back."""
    await _await(*_parted(controllers), told)


def _wait(own: Sequence[RPMController], others: Sequence[Any], told: Waiting | None) -> None:
    waiter = Waiter()
    with when_given_up(waiter.give_up), _making(own, waiter):
        for seconds in _placed(own, waiter, told):
            waiter.sleep(seconds)
        for other in others:
            call(other.check_or_wait)


async def _await(own: Sequence[RPMController], others: Sequence[Any], told: Waiting | None) -> None:
    waiter = LoopWaiter()
    with _making(own, waiter):
        for seconds in _placed(own, waiter, told):
            await waiter.sleep(seconds)
        for other in others:
            await acall(_async_face(other))


def _parted(controllers: Sequence[Any]) -> tuple[list[RPMController], list[Any]]:
    """Ours, and those that know only how to wait.

    The narrowest comes first: who waits for it holds no place of a wider one, and all take their places in the same order.
    """
    own = {id(one): one for one in controllers if _is_own(one)}
    others = {id(one): one for one in controllers if not _is_own(one)}
    return sorted(own.values(), key=_width), list(others.values())


def _is_own(controller: Any) -> bool:
    """Whether it waits as ours do, in both faces."""
    faces = ("check_or_wait", "acheck_or_wait")
    return isinstance(controller, RPMController) and not any(own_version(controller, face) for face in faces)


def _async_face(controller: Any) -> Callable[[], Any]:
    # A subclass of ours may have overridden the other face alone.
    return own_version(controller, "acheck_or_wait") or controller.check_or_wait


def _width(controller: RPMController) -> tuple[float, int]:
    rate = float("inf") if controller.max_rpm is None else controller.max_rpm / controller.seconds
    return rate, id(controller)


def _placed(
    controllers: Sequence[RPMController], waiter: Waiter | LoopWaiter, told: Waiting | None
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
def _making(controllers: Sequence[RPMController], waiter: Waiter | LoopWaiter) -> Generator[None]:
    """The request is made at the end of the block; if it fails, its places are given back."""
    try:
        yield
    except BaseException:
        for one in controllers:
            one.window.leave(waiter)
        raise
    for one in controllers:
        one.window.make(waiter)
