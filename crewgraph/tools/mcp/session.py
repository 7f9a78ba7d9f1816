"""Sessions with MCP servers, on an event loop of their own: runs of both kinds, in whatever threads, share them."""

import asyncio
import atexit
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, TypeVar, cast

from crewgraph.core.loops.threads import LoopThread
from crewgraph.core.resources import enclosing_resources
from crewgraph.errors import MCPServerError
from crewgraph.extras import require
from crewgraph.tools.mcp.server import MCPServer

__all__ = ["MCPSession", "acall_tool", "cached_tools", "call_tool", "list_tools"]


T = TypeVar("T")

_log = logging.getLogger("crewgraph.tools")
_loop = LoopThread("crewgraph-mcp")
_closing: set[Future[None]] = set()
_CLOSE_TIMEOUT = 5.0
"""How long the end of the process waits for sessions to end; a program that hears nothing is ended after two seconds."""

_HEARTBEAT = 3.0
"""Seconds between looks at whether a server that has not answered yet is there at all."""


class _ConnectionLost(Exception):
    """The connection is gone; what was asked did not reach the server."""


def cached_tools(server: MCPServer) -> list[dict[str, Any]] | None:
    """A server's tools, where it was asked for them before: in this run, or at all if its list is kept."""
    resources = enclosing_resources()
    if server.cached_tools is not None or resources is None:
        return server.cached_tools
    return resources.of(server.key, lambda: MCPSession(server)).cached_tools


def list_tools(server: MCPServer) -> list[dict[str, Any]]:
    """A server's tools as it describes them: name, description and inputSchema.

    Raises:
        MCPServerError: it is not there, or does not answer in time.
        MissingExtra: the package for MCP is not installed.
    """
    with _SessionScope(server) as session:
        tools = _loop.run(session.tools())
    server.cache_tools(tools)
    return tools


def call_tool(server: MCPServer, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a server answers to a call of a tool, as plain data (a `CallToolResult`).

    Raises:
        MCPServerError: it is not there, does not answer in time, or ended meanwhile.
    """
    with _SessionScope(server) as session:
        return _loop.run(session.call(tool, arguments))


async def acall_tool(server: MCPServer, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The same on the running event loop."""
    with _SessionScope(server) as session:
        return await _loop.arun(session.call(tool, arguments))


class _SessionScope:
    """A session in use: the run's, which stays open, or one for this alone where there is no run."""

    def __init__(self, server: MCPServer) -> None:
        resources = enclosing_resources()
        self._is_own = resources is None
        self._session = (
            MCPSession(server) if resources is None else resources.of(server.key, lambda: MCPSession(server))
        )

    def __enter__(self) -> "MCPSession":
        return self._session

    def __exit__(self, *_: object) -> None:
        if self._is_own:
            self._session.close()


class MCPSession:
    """A session with a server, begun when it is first needed, and anew where it was lost.

    Its coroutines belong on the loop of all sessions.
    """

    def __init__(self, server: MCPServer) -> None:
        self._server = server
        self._lock = asyncio.Lock()
        self._is_closed = False
        self._connection: _Connection | None = None
        self._tools: list[dict[str, Any]] | None = None

    @property
    def cached_tools(self) -> list[dict[str, Any]] | None:
        """The server's tools, where it was asked for them."""
        return self._tools

    def close(self) -> None:
        """End it, without waiting for that."""
        future = _loop.begin(self._close())
        _closing.add(future)
        future.add_done_callback(_closing.discard)

    async def _close(self) -> None:
        async with self._lock:
            self._is_closed = True
            if self._connection is not None:
                await self._connection.close()

    async def tools(self) -> list[dict[str, Any]]:
        """The server's tools; it is asked once."""
        if self._tools is None:
            self._tools = await self._request(_list_all_tools, self._server.connect_timeout, "list its tools")
        return self._tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What it answers to a call."""

        async def send(session: Any) -> dict[str, Any]:
            return (await session.call_tool(tool, arguments)).model_dump(mode="json", by_alias=True, exclude_none=True)

        return await self._request(send, self._server.execution_timeout, f"carry out `{tool}`")

    async def _request(self, send: Callable[[Any], Awaitable[T]], seconds: float, action: str) -> T:
        label = self._server.label
        for is_last in (False, True):  # a server may have been started anew since it was last asked
            connection = await self._connected()
            try:
                return await connection.request(send, seconds)
            except _ConnectionLost:
                self._connection = None
                await connection.close()
                if is_last:
                    raise MCPServerError(f"the connection to the {label} is lost.") from None
            except TimeoutError:
                raise MCPServerError(f"the {label} did not {action} within {seconds:g} seconds.") from None
            except EOFError as error:
                self._connection = None
                await connection.close()
                raise MCPServerError(
                    f"the {label} ended, or became unreachable, when it was to {action}: "
                    f"{self._server.redact(str(error))}."
                ) from None
            except Exception as error:
                raise MCPServerError(
                    f"the {label} did not {action}: {self._server.redact(_describe(error))}."
                ) from error
        raise AssertionError

    async def _connected(self) -> "_Connection":
        async with self._lock:
            if self._is_closed:
                raise MCPServerError(f"the run that used the {self._server.label} is over.")
            if self._connection is None or self._connection.is_closed:
                connection = _Connection(self._server)
                await connection.begin()
                self._connection = connection
            return self._connection


class _Connection:
    """A connection, held by one task: what opens it must close it."""

    def __init__(self, server: MCPServer) -> None:
        self._server = server
        self._closing = asyncio.Event()
        self._session: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        """What ended it."""

    @property
    def is_closed(self) -> bool:
        """Whether it is gone."""
        return self._task is None or self._task.done()

    async def begin(self) -> None:
        """Connect.

        Raises:
            MCPServerError: that fails, or takes too long.
        """
        sessions = require("langchain_mcp_adapters.sessions", extra="mcp", purpose=f"the {self._server.label}")
        self._task = asyncio.create_task(self._run(sessions.create_session))
        try:
            async with asyncio.timeout(self._server.connect_timeout):
                await asyncio.shield(self._session)
        except TimeoutError:
            await self.close()
            raise MCPServerError(
                f"the {self._server.label} did not answer within {self._server.connect_timeout:g} seconds. Look at whether it "
                "is one and runs; `connect_timeout=` of its description gives it more time."
            ) from None

    async def close(self) -> None:
        """Disconnect; a program that was started for it is ended."""
        self._closing.set()
        if self._task is not None:
            if not self._session.done():
                self._task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([self._task])

    async def request(self, send: Callable[[Any], Awaitable[T]], seconds: float) -> T:
        """What the session gives.

        Raises:
            _Lost: there is no connection any more, so that nothing was asked.
            EOFError: it was lost meanwhile.
            TimeoutError: it takes longer.
            Exception: whatever the session raises.
        """
        assert self._task is not None
        session = self._session.result()
        response, owner = asyncio.ensure_future(send(session)), self._task
        pings: set[asyncio.Future[Any]] = set()
        try:
            async with asyncio.timeout(seconds):
                while not response.done() and not owner.done():
                    await asyncio.wait({response, owner}, timeout=_HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
                    if not response.done() and not any(not ping.done() for ping in pings):
                        # Over HTTP nobody says that a server died: only what is sent to it finds out.
                        pings.add(asyncio.ensure_future(_ignore_errors(session.send_ping())))
        finally:
            for future in (response, *pings):
                future.cancel()
            await asyncio.wait({response, *pings})
        return self._result_of(response)

    def _result_of(self, response: "asyncio.Future[T]") -> T:
        if response.cancelled():
            raise EOFError(_describe(self._error))
        error = response.exception()
        if error is None:
            return response.result()
        if type(error).__name__ in ("ClosedResourceError", "BrokenResourceError"):  # anyio's: it was not sent
            raise _ConnectionLost
        if type(error).__name__ == "McpError" and getattr(getattr(error, "error", None), "code", 0) == -32000:
            raise EOFError("connection closed")
        if type(error).__name__ == "McpError" and "session terminated" in str(error).lower():
            raise _ConnectionLost  # it was started anew and does not know this session
        raise error

    async def _run(self, connect: Callable[[Any], Any]) -> None:
        label = self._server.label
        try:
            async with connect(self._server.connection) as session:
                await session.initialize()
                if not self._session.done():
                    self._session.set_result(session)
                await self._closing.wait()
        except Exception as error:  # noqa: BLE001 - told to who waits for the session, else to those who use it
            if self._session.done():
                _log.debug("the connection to the %s ended", label, exc_info=error)
                self._error = error
                return
            self._session.set_exception(
                MCPServerError(
                    f"the {label} cannot be used: {self._server.redact(_describe(error))}. Look at whether it runs, and at its "
                    "address or command, headers and environment."
                )
            )


async def _list_all_tools(session: Any) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = await session.list_tools(cursor)
        tools += [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools]
        cursor = page.nextCursor
        if not cursor:
            return tools


async def _ignore_errors(work: Awaitable[Any]) -> None:
    with suppress(Exception):
        await work


def _describe(error: BaseException | None) -> str:
    """What lies at the bottom of groups of exceptions."""
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        error = group.exceptions[0]
    if error is None:
        return "the connection was closed"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@atexit.register
def _wait_for_closing() -> None:
    wait(list(_closing), timeout=_CLOSE_TIMEOUT)
