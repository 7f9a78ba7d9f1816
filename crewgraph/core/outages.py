"""Which failures are outages: of a service that is down, which a run can carry on without.

A run that carries on warns and emits an event. Anything else, such as a programming error or a wrong key, ends it with its cause.
"""

from typing import TYPE_CHECKING

from crewgraph.core.cancellation import is_control_flow
from crewgraph.errors import LimitReached, SourceError
from crewgraph.tracebacks import raised_by_signal

if TYPE_CHECKING:
    from crewgraph.core.effects import EffectFailed


_OUTAGES = {"TransportError", "APIConnectionError", "OperationalError", "PoolTimeout", "EndpointConnectionError"}
"""What clients raise, by the names of its base classes: httpx, OpenAI's and Anthropic's, databases, botocore."""

_CONFIGURATION = (FileNotFoundError, PermissionError, FileExistsError, IsADirectoryError, NotADirectoryError)
"""Errors of the operating system that nobody but the user can mend; the others are of networks and devices."""

_STATUSES = frozenset({408, 425, 429, *range(500, 600)})


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status code of an exception, if it has one."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "code", "status"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and not isinstance(status, bool):
                return status
    return None


def is_outage(error: BaseException | None) -> bool:
    """Whether an exception, or one that it was raised from, says that a service is down, busy or out of reach."""
    if error is not None and (is_control_flow(error) or raised_by_signal(error)):
        return False
    while error is not None:
        if isinstance(error, LimitReached | SourceError):
            return False
        if (isinstance(error, OSError) and not isinstance(error, _CONFIGURATION)) or status_of(error) in _STATUSES:
            return True
        if any(base.__name__ in _OUTAGES for base in type(error).__mro__):
            return True
        error = error.__cause__
    return False


def may_carry_on(failure: "EffectFailed") -> bool:
    """Whether a body carries on without an effect. A replayed failure has no cause: it was carried on without before."""
    if failure.type_name == "TimeLimitReached":
        return False
    return failure.__cause__ is None or is_outage(failure.__cause__)
