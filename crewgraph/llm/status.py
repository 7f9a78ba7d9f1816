"""What a provider's answer to a request that failed says, wherever its client's exception holds it."""

import time
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

__all__ = ["retry_after", "status_of"]

_LATER = (429, 503)


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
    if status_of(error) not in _LATER:
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
