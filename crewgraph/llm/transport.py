"""httpx transports that call an interceptor."""

from collections.abc import Iterable
from ssl import SSLContext
from typing import NotRequired, TypedDict, Unpack

import httpx

from crewgraph.llm.connection import BaseInterceptor

__all__ = ["AsyncHTTPTransport", "HTTPTransport", "HTTPTransportKwargs"]


class HTTPTransportKwargs(TypedDict, total=False):
    """Keyword arguments of httpx transports."""

    verify: bool | str | SSLContext
    cert: NotRequired[str | tuple[str, str] | tuple[str, str, str]]
    trust_env: bool
    http1: bool
    http2: bool
    limits: httpx.Limits
    proxy: NotRequired[str | httpx.URL | httpx.Proxy]
    uds: NotRequired[str]
    local_address: NotRequired[str]
    retries: int
    socket_options: NotRequired[Iterable[tuple[int, int, int] | tuple[int, int, bytes | bytearray]]]


class HTTPTransport(httpx.HTTPTransport):
    """`httpx.HTTPTransport` with an interceptor.

    Args:
        interceptor: Called for each request and response.
        kwargs: Arguments of `httpx.HTTPTransport`.
    """

    def __init__(
        self, interceptor: BaseInterceptor[httpx.Request, httpx.Response], **kwargs: Unpack[HTTPTransportKwargs]
    ) -> None:
        super().__init__(**kwargs)
        self.interceptor = interceptor

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self.interceptor.on_inbound(super().handle_request(self.interceptor.on_outbound(request)))


class AsyncHTTPTransport(httpx.AsyncHTTPTransport):
    """`httpx.AsyncHTTPTransport` with an interceptor.

    Args:
        interceptor: Called for each request and response.
        kwargs: Arguments of `httpx.AsyncHTTPTransport`.
    """

    def __init__(
        self, interceptor: BaseInterceptor[httpx.Request, httpx.Response], **kwargs: Unpack[HTTPTransportKwargs]
    ) -> None:
        super().__init__(**kwargs)
        self.interceptor = interceptor

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        outbound = await self.interceptor.aon_outbound(request)
        return await self.interceptor.aon_inbound(await super().handle_async_request(outbound))
