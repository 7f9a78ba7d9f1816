"""HTTP connections that belong to one event loop each.

An httpx client keeps connections open for the next request, and a connection dies with the event loop that
opened it: a client that is used in two `asyncio.run` would fail with "Event loop is closed".
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from types import TracebackType
from typing import Any, Self
from weakref import WeakKeyDictionary

__all__ = ["LoopTransport"]


class LoopTransport:
    """A transport of an httpx client that sends each request through a client of the running event loop.

    The clients close themselves when their loop ends in the ordinary way (`asyncio.run`, an
    `asyncio.Runner`).
    """

    def __init__(self, make_client: Callable[[], object]) -> None:
        self._make_client = make_client
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[object, Any]] = WeakKeyDictionary()

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request; part of httpx's transport interface."""
        return await (await self._client()).send(request, stream=True, auth=None, follow_redirects=False)

    async def aclose(self) -> None:
        """Close the running loop's client."""
        _, lifeline = self._clients.pop(asyncio.get_running_loop(), (None, None))
        if lifeline is not None:
            await lifeline.aclose()

    async def _client(self) -> Any:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            client = self._make_client()
            self._clients[loop] = client, (lifeline := _closing(client))
            await anext(lifeline)
        return self._clients[loop][0]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


async def _closing(client: Any) -> AsyncGenerator[None, None]:
    """Wait until the event loop closes its async generators, which is the only shutdown signal of a loop."""
    try:
        yield
    finally:
        await client.aclose()
