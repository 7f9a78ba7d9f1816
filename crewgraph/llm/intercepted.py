"""Transports that ask an interceptor, for the HTTP clients of whatever package a provider's client uses."""

from types import TracebackType
from typing import Any, Self

from crewgraph.llm.interceptor import BaseInterceptor

__all__ = ["AsyncIntercepted", "Intercepted"]


class Intercepted:
    """A transport that sends through a client of its own.

    Args:
        client: sends.
        interceptor: sees requests and responses.
    """

    def __init__(self, client: Any, interceptor: BaseInterceptor[Any, Any]) -> None:
        self._client, self._interceptor = client, interceptor

    def handle_request(self, request: Any) -> Any:
        """Send a request, as a client asks a transport to."""
        sent = self._interceptor.on_outbound(request)
        return self._interceptor.on_inbound(self._client.send(sent, stream=True, auth=None, follow_redirects=False))

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def __del__(self) -> None:
        self.close()  # whoever asked it is gone without a word, as models are

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncIntercepted:
    """A transport around another one, on an event loop.

    Args:
        transport: sends.
        interceptor: sees requests and responses.
    """

    def __init__(self, transport: Any, interceptor: BaseInterceptor[Any, Any]) -> None:
        self._transport, self._interceptor = transport, interceptor

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request, as a client asks a transport to."""
        sent = await self._interceptor.aon_outbound(request)
        return await self._interceptor.aon_inbound(await self._transport.handle_async_request(sent))

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
