"""Checks before the routes: token, host name, size and type of the body, and how long a request may take to arrive."""

import asyncio
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

_OPEN = ("/ok",)
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_PORT = re.compile(r":\d+$")

_MAX_CONNECTIONS = 1_000
_MAX_HEADERS = 64 << 10  # bytes
_HEADER_SECONDS = 10.0
_BODY_SECONDS = 60.0
_MAX_WAITING = 200
_GRACE = 1.0  # seconds in which no connection gives way to others, as many clients may come at once


class Guard:
    """An ASGI middleware that rejects requests before anything reads them.

    Args:
        app: the wrapped application.
        token: the token that requests must send, as `Authorization: Bearer TOKEN` or `X-Api-Key: TOKEN`; None for nothing.
        hosts: allowed `Host` names, "*" for any. None allows any with a token, and without one only those of this machine, so
            that another site's page cannot reach the server by resolving its own name to this machine (DNS rebinding).
        max_body: maximum size of a body, in bytes.
    """

    def __init__(self, app: ASGIApp, *, token: str | None, hosts: Sequence[str] | None, max_body: int) -> None:
        self._app, self._token, self._max_body = app, token, max_body
        self._hosts = hosts or (_LOCAL if token is None else ("*",))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if (refusal := self._refusal(scope)) is not None:
            status, detail = refusal
            await JSONResponse({"detail": detail}, status)(scope, receive, send)
            return
        await self._app(scope, self._limited(receive), send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        named = headers.get("host", "").lower()
        if "*" not in self._hosts and _PORT.sub("", named) not in self._hosts:
            return 403, f"this server answers requests to {', '.join(self._hosts)}, not to {named!r}"
        if (
            self._token is not None
            and scope["path"] not in _OPEN
            and scope["method"] != "OPTIONS"
            and not self._is_known(headers)
        ):
            return 401, "send the server's token as `Authorization: Bearer TOKEN` or `X-Api-Key: TOKEN`"
        if scope["method"] in ("POST", "PUT", "PATCH"):
            length = headers.get("content-length", "0")
            if length.isdigit() and int(length) > self._max_body:
                return 413, f"the body has {length} bytes; {self._max_body} are allowed"
            has_body = length != "0" or "transfer-encoding" in headers
            # Browsers let other sites' pages send forms and text without a CORS preflight, but not JSON.
            if has_body and not headers.get("content-type", "").startswith("application/json"):
                return 415, "the body must be JSON, with the header `Content-Type: application/json`"
        return None

    def _is_known(self, headers: dict[str, str]) -> bool:
        # Clients of LangGraph's server also send the API key of their environment, unasked.
        tokens = (headers.get("x-api-key", ""), headers.get("authorization", "").removeprefix("Bearer "))
        return any([hmac.compare_digest(one.encode(), (self._token or "").encode()) for one in tokens])

    def _limited(self, receive: Receive) -> Receive:
        read, is_complete = 0, False

        async def limited() -> Message:
            nonlocal read, is_complete
            try:
                message = await receive()
            except asyncio.CancelledError:
                if is_complete:
                    raise
                return {"type": "http.disconnect"}  # the server stops, and the rest of the body has not come
            read += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            return {"type": "http.disconnect"} if read > self._max_body else message

        return limited


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
