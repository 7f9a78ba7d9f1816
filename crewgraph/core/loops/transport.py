"""HTTP connections that belong to one event loop each, to a forked process, and those of a proxy.

An httpx client keeps connections open for the next request, and a connection dies with the event loop that
opened it: a client that is used in two `asyncio.run` would fail with "Event loop is closed".
"""

import asyncio
import atexit
import os
import sys
from collections.abc import AsyncGenerator, Callable
from functools import cache
from types import TracebackType
from typing import Any, Self, cast
from weakref import WeakKeyDictionary, ref

from crewgraph.extras import load


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


@cache
def proxied_client(proxy: str) -> Any:
    """Return the synchronous client of a proxy, shared by everything that uses it: nobody would close one of a single model."""
    client = load("openai").DefaultHttpxClient(proxy=proxy)
    atexit.register(client.close)
    return client


def client_of_fork() -> Any | None:
    """Return the synchronous client of this process if it was forked, else None.

    The connections that the parent opened stay its own: on a shared one, each process gets answers of the other's requests.
    """
    return _client_of_fork() if _is_forked else None


_is_forked = False

_CLIENTS_OF_LANGCHAIN = {
    "langchain_anthropic._client_utils": ("_get_default_httpx_client", "_get_default_async_httpx_client"),
}
"""Caches of clients that all models of a process share, by module."""


@cache
def _client_of_fork() -> Any:
    client = load("openai").DefaultHttpxClient()
    atexit.register(client.close)
    return client


def _after_fork() -> None:
    global _is_forked
    _is_forked = True
    proxied_client.cache_clear()
    _client_of_fork.cache_clear()
    for module, names in _CLIENTS_OF_LANGCHAIN.items():
        for name in names:
            cached = getattr(sys.modules.get(module), name, None)
            if hasattr(cached, "cache_clear"):
                cast("Any", cached).cache_clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)


async def _closing(client: Any) -> AsyncGenerator[None, None]:
    """Wait until the event loop closes its async generators, which is the only shutdown signal of a loop.

    Loops that do not close them, as under nest_asyncio, leave this one to the garbage collector, which cannot await.
    """
    own = ref(asyncio.get_running_loop())
    try:
        yield
    finally:
        if _is_running(own()):
            await client.aclose()


def _is_running(loop: asyncio.AbstractEventLoop | None) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:  # there is none
        return False
