"""Sessions with MCP servers, on a dedicated event loop, so that sync and async runs in any thread share them."""

import asyncio
import atexit
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future, wait
from contextlib import closing, contextmanager, suppress
from typing import Any, Self, TypeVar, cast

from crewgraph.core.current import CURRENT
from crewgraph.core.loops.threads import LoopThread
from crewgraph.errors import MCPServerError
from crewgraph.extras import require
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict
from crewgraph.tools.mcp.server import MCPServer

T = TypeVar("T")

_log = redacted_logger("crewgraph.tools")
_loop = LoopThread("crewgraph-mcp")
_closing: set[Future[None]] = set()
_CLOSE_TIMEOUT = 5.0
"""Seconds to wait for sessions to close at exit; stdio servers are terminated after two seconds."""

_HEARTBEAT = 3.0
"""Seconds between pings of a server that has not answered yet."""


class _ConnectionLost(Exception):
    """The connection was lost before the request reached the server."""


def cached_tools(server: MCPServer) -> list[PlainDict] | None:
    """Return the tools of a server if they were listed before, in this run or, with `cache_tools_list`, in this process."""
    resources = CURRENT.get().resources
    if server.cached_tools is not None or resources is None:
        return server.cached_tools
    return resources.of(server.key, lambda: MCPSession(server)).cached_tools


def list_tools(server: MCPServer) -> list[PlainDict]:
    """Return the tools of a server with name, description and inputSchema.

    Raises:
        MCPServerError: The server is unreachable or times out.
        MissingExtra: The package for MCP is not installed.
    """
    with _session_with(server) as session:
        tools = _loop.run(session.tools())
    server.cache_tools(tools)
    return tools


def call_tool(server: MCPServer, tool: str, arguments: PlainDict) -> PlainDict:
    """Call a tool and return the server's `CallToolResult` as plain data.

    Raises:
        MCPServerError: The server is unreachable, times out, or ended during the call.
    """
    with _session_with(server) as session:
        return _loop.run(session.call(tool, arguments))


async def acall_tool(server: MCPServer, tool: str, arguments: PlainDict) -> PlainDict:
    """Async version of `call_tool`."""
    with _session_with(server) as session:
        return await _loop.arun(session.call(tool, arguments))


@contextmanager
def _session_with(server: MCPServer) -> Generator["MCPSession"]:
    """The session of the run, which stays open, or a temporary one outside of runs."""
    if (resources := CURRENT.get().resources) is not None:
        yield resources.of(server.key, lambda: MCPSession(server))
        return
    with closing(MCPSession(server)) as session:
        yield session


class MCPSession:
    """A session with a server that connects lazily and reconnects after a lost connection.

    Its coroutines must run on the loop of all sessions.
    """

    def __init__(self, server: MCPServer) -> None:
        self._server = server
        self._lock = asyncio.Lock()
        self._is_closed = False
        self._connection: _Connection | None = None
        self._tools: list[dict[str, object]] | None = None

    @property
    def cached_tools(self) -> list[PlainDict] | None:
        """The tools of the server if they were listed before."""
        return self._tools

    def close(self) -> None:
        """Close the session in the background."""
        future = _loop.begin(self._close())
        _closing.add(future)
        future.add_done_callback(_closing.discard)

    async def _close(self) -> None:
        async with self._lock:
            self._is_closed = True
            if self._connection is not None:
                await self._connection.close()

    async def tools(self) -> list[PlainDict]:
        """Return the tools of the server, which are listed once."""
        if self._tools is None:
            self._tools = await self._request(_list_all_tools, self._server.connect_timeout, "list its tools")
        return self._tools

    async def call(self, tool: str, arguments: PlainDict) -> PlainDict:
        """Call a tool and return the result as plain data."""

        async def send(session: Any) -> PlainDict:
            return (await session.call_tool(tool, arguments)).model_dump(mode="json", by_alias=True, exclude_none=True)

        return await self._request(send, self._server.execution_timeout, f"carry out `{tool}`")

    async def _request(self, send: Callable[[object], Awaitable[T]], seconds: float, action: str) -> T:
        label = self._server.label
        for is_last in (False, True):  # the server may have restarted since the last request
            connection = await self._connected()
            try:
                return await connection.request(send, seconds)
            except _ConnectionLost:
                await connection.close()
                if is_last:
                    raise MCPServerError(f"the connection to the {label} was lost.") from None
            except TimeoutError:
                raise MCPServerError(f"the {label} did not {action} within {seconds:g} seconds.") from None
            except EOFError as error:
                await connection.close()
                raise MCPServerError(
                    f"the {label} ended or became unreachable when asked to {action}: "
                    f"{self._server.redact(str(error))}."
                ) from None
            except Exception as error:  # the transports raise errors of several packages, also in groups
                raise MCPServerError(f"the {label} did not {action}: {self._server.redact(_reason(error))}.") from error
        raise AssertionError

    async def _connected(self) -> "_Connection":
        async with self._lock:
            if self._is_closed:
                raise MCPServerError(f"the run that used the {self._server.label} has ended.")
            if self._connection is None or self._connection.is_closed:
                self._connection = await _Connection(self._server).opened()
            return self._connection


class _Connection:
    """A connection that is held open by one task, because the task that opens it must close it."""

    def __init__(self, server: MCPServer) -> None:
        sessions = require("langchain_mcp_adapters.sessions", extra="mcp", purpose=f"the {server.label}")
        self._server = server
        self._closing = asyncio.Event()
        self._session: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(sessions.create_session))
        self._error: Exception | None = None
        """The error that ended the connection."""

    @property
    def is_closed(self) -> bool:
        """Whether the connection is closed."""
        return self._task.done()

    async def opened(self) -> Self:
        """Wait until the server is connected.

        Raises:
            MCPServerError: The connection fails or times out.
        """
        try:
            async with asyncio.timeout(self._server.connect_timeout):
                await asyncio.shield(self._session)
        except TimeoutError:
            await self.close()
            raise MCPServerError(
                f"the {self._server.label} did not answer within {self._server.connect_timeout:g} seconds. Check that it "
                "runs and is an MCP server, or increase its `connect_timeout`."
            ) from None
        return self

    async def close(self) -> None:
        """Disconnect; a stdio server is terminated."""
        self._closing.set()
        if not self._session.done():
            self._task.cancel()
        await asyncio.wait([self._task])

    async def request(self, send: Callable[[object], Awaitable[T]], seconds: float) -> T:
        """Send a request through the session and return its result.

        Raises:
            _ConnectionLost: The connection was lost before the request was sent.
            EOFError: The connection was lost during the request.
            TimeoutError: The server did not answer in time.
            Exception: Whatever the session raises.
        """
        session = self._session.result()
        response = asyncio.ensure_future(send(session))
        ping = response
        try:
            async with asyncio.timeout(seconds):
                while not response.done() and not self._task.done():
                    await asyncio.wait({response, self._task}, timeout=_HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
                    if not response.done() and (ping is response or ping.done()):
                        # Over HTTP a dead server goes unnoticed until something is sent to it.
                        ping = asyncio.ensure_future(_ignore_errors(session.send_ping()))
        finally:
            for future in (response, ping):
                future.cancel()
            await asyncio.wait({response, ping})
        if response.cancelled():
            raise EOFError(_reason(self._error))
        error = response.exception()
        if error is None:
            return response.result()
        kind, said = type(error).__name__, str(error)
        # anyio raises the first two before sending; a server that restarted does not know the session
        if kind in ("ClosedResourceError", "BrokenResourceError") or (
            kind == "McpError" and "session terminated" in said.lower()
        ):
            raise _ConnectionLost
        if kind == "McpError" and said == "Connection closed":  # servers use its code for errors of their own, too
            raise EOFError("connection closed")
        raise error

    async def _hold(self, connect: Callable[[Any], Any]) -> None:
        label = self._server.label
        try:
            async with connect(self._server.connection) as session:
                await session.initialize()
                if not self._session.done():
                    self._session.set_result(session)
                await self._closing.wait()
        except Exception as error:  # noqa: BLE001 - raised by `opened`, or by later requests
            if self._session.done():
                _log.debug("the connection to the %s ended", label, exc_info=error)
                self._error = error
                return
            self._session.set_exception(
                MCPServerError(
                    f"the {label} cannot be used: {self._server.redact(_reason(error))}. Check that it runs, and check its "
                    "address or command, headers and environment."
                )
            )


async def _list_all_tools(session: Any) -> list[PlainDict]:
    tools: list[PlainDict] = []
    cursor: str | None = None
    while True:
        page = await session.list_tools(cursor)
        tools += [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools]
        cursor = page.nextCursor
        if not cursor:
            return tools


async def _ignore_errors(work: Awaitable[object]) -> None:
    with suppress(Exception):
        await work


def _reason(error: BaseException | None) -> str:
    """Describe an exception, or the innermost one of an exception group."""
    if isinstance(error, BaseExceptionGroup):
        return _reason(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    if error is None:
        return "the connection was closed"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@atexit.register
def _wait_for_closing() -> None:
    wait(list(_closing), timeout=_CLOSE_TIMEOUT)
