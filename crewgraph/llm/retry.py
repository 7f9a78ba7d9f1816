"""Retries that provider clients do not make: later ones after status 429, and any at all where a client has none.

Reads status and delay from exceptions.
"""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from crewgraph.core.messages import Reply
from crewgraph.core.operations import Program
from crewgraph.core.outages import status_of
from crewgraph.llm.rate_limit import Waiter
from crewgraph.settings import longest_retry_after

_RETRY_STATUSES = (429, 503)


def retry_after(error: BaseException) -> float | None:
    """Return the seconds that a `Retry-After` header (a number or a date) asks to wait; None without one."""
    if status_of(error) not in _RETRY_STATUSES:
        return None
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    header: object = headers.get("retry-after") if callable(getattr(headers, "get", None)) else None
    if not isinstance(header, str):
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return None
    return max(seconds, 0.0) if isfinite(seconds) else None


_UNRETRIED = {"HTTPStatusError", "ResponseError"}
"""What clients raise that do not retry when a server is busy: those of Mistral's models and of Ollama."""

_TOO_MANY = 429
"""Clients retry within about a second, and the provider counts the requests of a longer time."""

_BUSY_STATUSES = (500, 502, 503, 504)
_LONGEST_PAUSE = 8.0


def _pause(error: Exception, retries_made: int) -> float | None:
    """Return the seconds to wait before a retry that the client does not make; None if it does, or none would help."""
    status = status_of(error)
    is_unretried = any(base.__name__ in _UNRETRIED for base in type(error).__mro__)
    if status != _TOO_MANY and not (is_unretried and status in _BUSY_STATUSES):
        return None
    asked = retry_after(error)
    return min(2.0**retries_made, _LONGEST_PAUSE) if asked is None else asked


_CLIENT_WAIT = 60.0
"""The longest delay, in seconds, that provider clients handle with their own retries."""


def retried(
    ask: Callable[[], Program[Reply]],
    on_wait: Callable[[float], None],
    max_retries: int,
    min_wait: float = _CLIENT_WAIT,
    max_wait: float | None = None,
) -> Program[Reply]:
    """Make the retries that a model's client does not make; waits end early if the call is abandoned.

    Args:
        ask: Makes the request.
        on_wait: Called with the seconds before each wait.
        max_retries: Maximum number of retries.
        min_wait: Shorter waits are left to the provider's client, in seconds.
        max_wait: The request fails if the provider asks for a longer wait, in seconds; None for CREWGRAPH_MAX_RETRY_AFTER.

    Raises:
        LimitReached: Nothing waits for the answer any longer (`max_execution_time`).
    """
    longest = longest_retry_after() if max_wait is None else max_wait
    for made in range(max_retries + 1):
        try:
            return (yield from ask())
        except Exception as error:
            seconds = None if made == max_retries else _wait_after(error, made, min_wait, longest)
            if seconds is None:
                raise
        on_wait(seconds)
        yield Waiter().pause(seconds)
    raise AssertionError("the last attempt raises")


def _wait_after(error: Exception, retries_made: int, min_wait: float, max_wait: float) -> float | None:
    """Return the seconds to wait before a request is repeated; None if it is not to be."""
    seconds = _pause(error, retries_made)
    if seconds is None:
        seconds = retry_after(error)
        if seconds is None or seconds <= min_wait:
            return None
    if seconds > max_wait:
        error.add_note(
            f"the provider asks to retry after {seconds:.0f} seconds (`Retry-After`), but CREWGRAPH_MAX_RETRY_AFTER allows "
            f"{max_wait:g}"
        )
        return None
    return seconds
