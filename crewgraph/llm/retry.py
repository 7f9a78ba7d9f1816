"""Retries that provider clients do not make: later ones after status 429, and any at all where a client has none.

Reads status and delay from exceptions.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from crewgraph.core.messages import Reply
from crewgraph.core.operations import Program
from crewgraph.core.outages import status_of
from crewgraph.core.protocols import Model
from crewgraph.llm.rate_limit import Waiter
from crewgraph.llm.wrapping import ModelWrapper, asking
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

_RETRIES = 2


@dataclass(frozen=True)
class RetryingModel(ModelWrapper[Model]):
    """A model that makes the retries that its client does not make; waits end early if the call is abandoned."""

    model: Model
    on_wait: Callable[[float], None] | None = None
    """Called with the seconds before each wait."""

    max_retries: int = _RETRIES
    """Maximum number of retries per request."""

    min_wait: float = _CLIENT_WAIT
    """Shorter waits are left to the provider's client, in seconds."""

    max_wait: float = field(default_factory=longest_retry_after)
    """The request fails if the provider asks for a longer wait, in seconds."""

    def answer(self, *request: Any) -> Program[Reply]:
        """Answer a conversation.

        Raises:
            LimitReached: Nothing waits for the answer any longer (`max_execution_time`).
        """
        for made in range(self.max_retries + 1):
            try:
                return (yield asking(self.model, *request))
            except Exception as error:
                if (seconds := self._wait_after(error, made)) is None:
                    raise
            yield Waiter().pause(seconds)
        raise AssertionError("the last attempt raises")

    def _wait_after(self, error: Exception, retries_made: int) -> float | None:
        """Return the seconds to wait before a request is repeated; None if it is not to be."""
        if retries_made == self.max_retries:
            return None
        seconds = _pause(error, retries_made)
        if seconds is None:
            seconds = retry_after(error)
            if seconds is None or seconds <= self.min_wait:
                return None
        if seconds > self.max_wait:
            error.add_note(
                f"the provider asks to retry after {seconds:.0f} seconds (`Retry-After`), but CREWGRAPH_MAX_RETRY_AFTER allows "
                f"{self.max_wait:g}"
            )
            return None
        if self.on_wait is not None:
            self.on_wait(seconds)
        return seconds
