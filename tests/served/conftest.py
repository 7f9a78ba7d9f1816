"""Clients of both servers."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client, get_sync_client
from servers.postgres import Postgres

from .http_servers import Served, langgraph_dev, our_server, our_server_with_workers
from .server_processes import OfficeServer, started


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
def ours_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with our_server(tmp_path_factory.mktemp("ours")) as served:
        yield served


@pytest.fixture(scope="session")
def queued_server(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> Iterator[Served]:
    with postgres.database() as address, our_server_with_workers(tmp_path_factory.mktemp("queued"), address) as served:
        yield served


@pytest.fixture(scope="session")
def langgraphs_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with langgraph_dev(tmp_path_factory.mktemp("langgraphs")) as served:
        yield served


@pytest.fixture(params=["ours-sync", "queued-async", "langgraphs"])
def client(request: pytest.FixtureRequest) -> Client:
    """A client of `crewgraph serve`, of the same with a queue and workers, or of LangGraph's own server."""
    server, _, kind = request.param.partition("-")
    return Client(
        request.getfixturevalue(f"{server}_server"), asynchronous=kind != "sync", is_ours=server != "langgraphs"
    )


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[OfficeServer]:
    """A server of the waiting crews that executes runs itself."""
    with started(tmp_path) as made:
        yield made


@pytest.fixture
def queued(tmp_path: Path, postgres: Postgres) -> Iterator[OfficeServer]:
    """A server of the waiting crews with a queue, and a worker."""
    with postgres.database() as address, started(tmp_path, address) as made:
        yield made
