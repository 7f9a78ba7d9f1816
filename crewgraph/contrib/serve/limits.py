"""What a connection may take before its request is whole, and so before the server knows who asks."""

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["LIMITS", "LimitedProtocol"]


_MAX_CONNECTIONS = 1_000
_MAX_HEADERS = 64 << 10  # bytes
_HEADER_SECONDS = 10.0
_BODY_SECONDS = 60.0
_MAX_WAITING = 200
_GRACE = 1.0  # seconds in which no connection gives way to others, as many clients may come at once


class LimitedProtocol(H11Protocol):
    """uvicorn's protocol, which closes connections whose request does not come in time; uvicorn itself waits for ever.

    A request has 10 s for its headers, then 60 s for its body. While more than 200 connections wait for theirs, the one that
    has waited longest is closed for each that comes. A connection whose request is whole, such as that of a stream, has no limit.
    """

    _waiting: ClassVar[dict["LimitedProtocol", float]] = {}  # since when, the longest first
    _timer: asyncio.TimerHandle | None = None
    _in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._watch(arrived=False)
        if len(self._waiting) > _MAX_WAITING:
            oldest, since = next(iter(self._waiting.items()))
            if self.loop.time() - since > _GRACE:
                oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch(arrived=True)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch(arrived=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    def _watch(self, *, arrived: bool) -> None:
        """Start or end the wait for a request, given whether bytes have arrived since the last response."""
        cycle: Any = self.cycle
        is_whole = cycle is not None and not cycle.more_body and not (arrived and cycle.response_complete)
        if is_whole or self.transport.is_closing() or self.transport.get_protocol() is not self:
            self._end_wait()
        else:
            in_body = cycle is not None and cycle.more_body and not cycle.response_complete
            if self._timer is None or in_body is not self._in_body:
                self._end_wait()
                self._in_body = in_body
                self._waiting[self] = self.loop.time()
                self._timer = self.loop.call_later(_BODY_SECONDS if in_body else _HEADER_SECONDS, self.transport.abort)

    def _end_wait(self) -> None:
        self._waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


LIMITS: Mapping[str, object] = {
    "http": LimitedProtocol,
    "h11_max_incomplete_event_size": _MAX_HEADERS,
    "limit_concurrency": _MAX_CONNECTIONS,
}
"""The options of uvicorn; beyond 1,000 connections it answers with 503."""
