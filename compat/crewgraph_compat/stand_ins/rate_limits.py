"""Requests that are made again where a provider has had too many."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from crewgraph.llm.retry import retry_after, status_of

__all__ = ["arun_with_rate_limit_retry", "get_retry_delay_seconds", "run_with_rate_limit_retry"]

T = TypeVar("T")

_TIMES = 3
_TOO_MANY = 429
_LONGEST = 60.0


def get_retry_delay_seconds(
    retry_number: int,
    *,
    retry_after_seconds: float | None = None,
    random_value: Callable[[], float] = random.random,
) -> float:
    """How long to wait before the first, second, ... time again.

    Args:
        retry_number: 1 for the first.
        retry_after_seconds: what the provider asked for; that is waited, up to a minute.
        random_value: from 0 to 1; spreads those who wait at once.
    """
    if retry_after_seconds is not None:
        return min(max(retry_after_seconds, 0.0), _LONGEST)
    return min(2.0 ** (retry_number - 1) * (1 + random_value()), _LONGEST)


def run_with_rate_limit_retry(operation: Callable[[], T], *, sleep: Callable[[float], None] = time.sleep) -> T:
    """What the operation gives; it is made again, up to three times, where its exception has the HTTP status 429."""
    for number in range(1, _TIMES + 1):
        try:
            return operation()
        except Exception as error:
            if status_of(error) != _TOO_MANY:
                raise
            sleep(get_retry_delay_seconds(number, retry_after_seconds=retry_after(error)))
    return operation()


async def arun_with_rate_limit_retry(
    operation: Callable[[], Awaitable[T]], *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> T:
    """The same on an event loop."""
    for number in range(1, _TIMES + 1):
        try:
            return await operation()
        except Exception as error:
            if status_of(error) != _TOO_MANY:
                raise
            await sleep(get_retry_delay_seconds(number, retry_after_seconds=retry_after(error)))
    return await operation()
