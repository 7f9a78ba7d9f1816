"""Clients of both servers."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langgraph_sdk import get_client, get_sync_client

from .http_servers import Served, langgraph_dev, our_server


class Client:
    """langgraph-sdk's client of a server: sync or async, with the same calls."""

    def __init__(self, served: Served, *, asynchronous: bool, is_ours: bool, **options: Any) -> None:
        self.served, self.is_ours = served, is_ours
        self._asynchronous = asynchronous
        self._options: Any = {"url": served.url, **options}

    def __call__(self, path: str, *args: Any, **named: Any) -> Any:
        """Call a method, such as "runs.wait"."""

        async def within() -> Any:
            async with get_client(**self._options) as client:
                return await _method(client, path)(*args, **named)

        if self._asynchronous:
            return asyncio.run(within())
        with get_sync_client(**self._options) as client:
            return _method(client, path)(*args, **named)

    def stream(self, path: str, *args: Any, **named: Any) -> list[Any]:
        """Call a method that streams, and return the parts."""

        async def within() -> list[Any]:
            async with get_client(**self._options) as client:
                return [part async for part in _method(client, path)(*args, **named)]

        if self._asynchronous:
            return asyncio.run(within())
        with get_sync_client(**self._options) as client:
            return list(_method(client, path)(*args, **named))

    def thread(self) -> str:
        return self("threads.create")["thread_id"]


def _method(client: Any, path: str) -> Callable[..., Any]:
    group, _, name = path.partition(".")
    return getattr(getattr(client, group), name)


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with our_server(tmp_path_factory.mktemp("ours")) as served:
        yield served


@pytest.fixture(scope="session")
def langgraphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with langgraph_dev(tmp_path_factory.mktemp("langgraphs")) as served:
        yield served


@pytest.fixture(params=["ours-sync", "ours-async", "langgraphs"])
def client(request: pytest.FixtureRequest) -> Client:
    """A client of `crewgraph serve`, or of LangGraph's own server."""
    server, _, kind = request.param.partition("-")
    return Client(request.getfixturevalue(server), asynchronous=kind != "sync", is_ours=server == "ours")
