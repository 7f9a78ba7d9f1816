"""A model that is asked again after the time that its provider asked for, where its client does not wait for so long.

What a provider's answer to a request that failed says, wherever its client's exception holds it.
"""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from math import isfinite
from types import TracebackType
from typing import TYPE_CHECKING, Any

from crewgraph.core.cancellation import when_given_up
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.protocols import Model
from crewgraph.llm.rate_limit import LoopWaiter, Waiter
from crewgraph.llm.wrapper import ModelWrapper
from crewgraph.settings import longest_retry_after

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["RetryingModel", "retry_after", "status_of"]


_RETRY_STATUSES = (429, 503)


def status_of(error: BaseException) -> int | None:
    """The HTTP status; None where there was none."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "code", "status"):
            found = getattr(holder, name, None)
            if isinstance(found, int) and not isinstance(found, bool):
                return found
    return None


def retry_after(error: BaseException) -> float | None:
    """How many seconds the server wants to be left alone (`Retry-After`, seconds or a date); None where it says nothing."""
    if status_of(error) not in _RETRY_STATUSES:
        return None
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    told: Any = headers.get("retry-after") if callable(getattr(headers, "get", None)) else None
    if not isinstance(told, str):
        return None
    try:
        seconds = float(told)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(told).timestamp() - time.time()
        except ValueError:
            return None
    return max(seconds, 0.0) if isfinite(seconds) else None


_CLIENT_WAIT = 60.0
"""Seconds that all clients wait themselves, before each of their own retries."""

_RETRIES = 2


@dataclass(frozen=True)
class RetryingModel(ModelWrapper[Model]):
    """A model at work; waits are told, and end when nobody waits for the answer any longer."""

    model: Model
    on_wait: Callable[[float], None]
    """Is told of a wait, in seconds."""

    max_retries: int = _RETRIES
    """How often a request is made again."""

    min_wait: float = _CLIENT_WAIT
    """Shorter waits are left to the provider's client."""

    max_wait: float = field(default_factory=longest_retry_after)
    """For longer waits the request fails."""

    def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        """Answer a conversation.

        Raises:
            LimitReached: nobody waits for the answer any longer (`max_execution_time`).
        """
        for attempt in self._attempts():
            with attempt:
                return self.model.complete(messages, tools, stop, config)
            waiter = Waiter()
            with when_given_up(waiter.give_up):
                waiter.sleep(attempt.wait)
        raise AssertionError("the last attempt raises")

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        """Answer a conversation; see `complete`."""
        for attempt in self._attempts():
            with attempt:
                return await self.model.acomplete(messages, tools, stop, config)
            await LoopWaiter().sleep(attempt.wait)
        raise AssertionError("the last attempt raises")

    def _attempts(self) -> "Generator[_Attempt]":
        for left in range(self.max_retries, -1, -1):
            yield _Attempt(self, left)


class _Attempt:
    """A `with` around a request, which holds a failure after which it is to be made again."""

    def __init__(self, of: RetryingModel, left: int) -> None:
        self._owner, self._retries_left = of, left
        self.wait = 0.0

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        seconds = retry_after(error) if isinstance(error, Exception) else None
        if error is None or seconds is None or seconds <= self._owner.min_wait or not self._retries_left:
            return False
        if seconds > self._owner.max_wait:
            error.add_note(
                f"the provider asks for {seconds:.0f} seconds of patience (`Retry-After`), and CREWGRAPH_MAX_RETRY_AFTER allows "
                f"{self._owner.max_wait:g}"
            )
            return False
        self.wait = seconds
        self._owner.on_wait(seconds)
        return True
