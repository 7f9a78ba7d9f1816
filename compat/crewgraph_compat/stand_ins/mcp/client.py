"""An MCP client for programs that manage the connection themselves."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from enum import Enum
from types import TracebackType
from typing import Any, Final, Self

from crewgraph.errors import MCPServerError
from crewgraph.extras import require

__all__ = [
    "MCP_CLIENT_TIMEOUT",
    "BaseTransport",
    "HTTPTransport",
    "MCPClient",
    "SSETransport",
    "StdioTransport",
    "TransportType",
]

MCP_CLIENT_TIMEOUT: Final = 30
"""Default timeout of a client in seconds."""


class TransportType(str, Enum):  # noqa: UP042 - its texts are those of an enum of texts: programs print them
    """The transport that connects to a server."""

    STDIO = "stdio"
    HTTP = "http"
    STREAMABLE_HTTP = "streamable-http"
    SSE = "sse"


class BaseTransport(ABC):
    """Base class of transports: a pair of message streams to a server."""

    def __init__(self, **kwargs: Any) -> None:
        self._streams: tuple[Any, Any] | None = None
        self._open: AsyncExitStack | None = None

    @property
    @abstractmethod
    def transport_type(self) -> TransportType:
        """The kind of transport."""

    @property
    def connected(self) -> bool:
        """Whether the transport is connected."""
        return self._streams is not None

    @property
    def read_stream(self) -> Any:
        """The stream of messages from the server.

        Raises:
            RuntimeError: There is no connection.
        """
        return self._stream(0)

    @property
    def write_stream(self) -> Any:
        """The stream of messages to the server.

        Raises:
            RuntimeError: There is no connection.
        """
        return self._stream(1)

    def _stream(self, which: int) -> Any:
        if self._streams is None:
            raise RuntimeError("the transport is not connected; call `connect()` first")
        return self._streams[which]

    @abstractmethod
    async def connect(self) -> Self:
        """Connect.

        Raises:
            ConnectionError: The connection fails.
        """

    @abstractmethod
    async def disconnect(self) -> None:
        """Disconnect; call this in the task that connected."""

    async def __aenter__(self) -> Self:
        return await self.connect()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.disconnect()


class _Opened(BaseTransport):
    """Base class of transports opened by the `mcp` package."""

    @abstractmethod
    def _opening(self) -> Any:
        """Return the asynchronous context that opens the streams."""

    async def connect(self) -> Self:
        """Connect.

        Raises:
            MCPServerError: The connection fails (also ConnectionError).
            MissingExtra: the package for MCP is not installed.
        """
        if self._streams is not None:
            return self
        stack = AsyncExitStack()
        try:
            opened = await stack.enter_async_context(self._opening())
        except (OSError, ExceptionGroup) as error:
            await stack.aclose()
            raise MCPServerError(f"cannot connect over {self.transport_type.value}: {error}") from error
        self._open, self._streams = stack, (opened[0], opened[1])
        return self

    async def disconnect(self) -> None:
        """Disconnect."""
        self._streams = None
        if self._open is not None:
            stack, self._open = self._open, None
            await stack.aclose()


class StdioTransport(_Opened):
    """A server process connected over its standard streams.

    Args:
        command: the program.
        args: its arguments.
        env: additional environment variables.
    """

    def __init__(
        self, command: str, args: list[str] | None = None, env: dict[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.command, self.args, self.env = command, args or [], env or {}

    @property
    def transport_type(self) -> TransportType:
        """The kind of transport."""
        return TransportType.STDIO

    def _opening(self) -> Any:
        stdio = _package("mcp.client.stdio")
        return stdio.stdio_client(
            stdio.StdioServerParameters(command=self.command, args=self.args, env=self.env or None)
        )


class HTTPTransport(_Opened):
    """A server connected over HTTP.

    Args:
        url: the address.
        headers: sent with each request.
        streamable: determines the reported kind; both use streamable HTTP.
    """

    def __init__(self, url: str, headers: dict[str, str] | None = None, streamable: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.url, self.headers, self.streamable = url, headers or {}, streamable

    @property
    def transport_type(self) -> TransportType:
        """The kind of transport."""
        return TransportType.STREAMABLE_HTTP if self.streamable else TransportType.HTTP

    def _opening(self) -> Any:
        return self._session()

    @asynccontextmanager
    async def _session(self) -> AsyncGenerator[Any]:
        package = _package("mcp.client.streamable_http")
        client = package.create_mcp_http_client(headers=self.headers or None)
        async with client, package.streamable_http_client(self.url, http_client=client) as streams:
            yield streams


class SSETransport(_Opened):
    """A server connected over server-sent events.

    Args:
        url: the address.
        headers: sent with each request.
    """

    def __init__(self, url: str, headers: dict[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.url, self.headers = url, headers or {}

    @property
    def transport_type(self) -> TransportType:
        """The kind of transport."""
        return TransportType.SSE

    def _opening(self) -> Any:
        return _package("mcp.client.sse").sse_client(self.url, headers=self.headers or None)


class MCPClient:
    """A session with a server over any transport; must be used within a single task of one event loop.

    Args:
        transport: the transport.
        connect_timeout: the connection timeout in seconds.
        execution_timeout: the timeout of a call in seconds.
        discovery_timeout: the timeout of listings in seconds.
        max_retries: stored only; requests are not repeated.
        cache_tools_list: whether to cache the list of tools.
        logger: stored only.
    """

    def __init__(
        self,
        transport: BaseTransport,
        connect_timeout: float = MCP_CLIENT_TIMEOUT,
        execution_timeout: float = MCP_CLIENT_TIMEOUT,
        discovery_timeout: float = MCP_CLIENT_TIMEOUT,
        max_retries: int = 3,
        cache_tools_list: bool = False,
        logger: logging.Logger | None = None,
    ) -> None:
        self.transport, self.connect_timeout, self.execution_timeout = transport, connect_timeout, execution_timeout
        self.discovery_timeout, self.max_retries, self.cache_tools_list = (
            discovery_timeout,
            max_retries,
            cache_tools_list,
        )
        self.logger = logger
        self._session: Any = None
        self._open: AsyncExitStack | None = None
        self._listed: list[dict[str, Any]] | None = None

    @property
    def connected(self) -> bool:
        """Whether a session is open."""
        return self._session is not None and self.transport.connected

    @property
    def session(self) -> Any:
        """The session of the `mcp` package.

        Raises:
            RuntimeError: there is none.
        """
        if self._session is None:
            raise RuntimeError("the client has no session; call `connect()` first")
        return self._session

    async def connect(self) -> Self:
        """Open a session.

        Raises:
            MCPServerError: The server is unavailable or does not respond in time (also ConnectionError).
            MissingExtra: the package for MCP is not installed.
        """
        if self.connected:
            return self
        package = _package("mcp")
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self.connect_timeout):
                    await self.transport.connect()
                    stack.push_async_callback(self.transport.disconnect)
                    streams = self.transport.read_stream, self.transport.write_stream
                    session = await stack.enter_async_context(package.ClientSession(*streams))
                    await session.initialize()
            except TimeoutError as error:
                seconds = f"{self.connect_timeout:g} seconds"
                raise MCPServerError(f"the MCP server did not answer within {seconds}") from error
            except (OSError, ExceptionGroup, package.McpError) as error:
                raise MCPServerError(f"cannot start a session with the MCP server: {error}") from error
            self._open, self._session = stack.pop_all(), session
        return self

    async def disconnect(self) -> None:
        """Close the session; call this in the task that opened it."""
        self._session = None
        if self._open is not None:
            stack, self._open = self._open, None
            await stack.aclose()

    async def list_tools(self, use_cache: bool | None = None) -> list[dict[str, Any]]:
        """Return the server's tools as dicts with "name", "original_name", "description" and "inputSchema".

        Args:
            use_cache: whether a cached list may be returned; None means `cache_tools_list`.

        Raises:
            MCPServerError: The server does not respond.
        """
        may_reuse = self.cache_tools_list if use_cache is None else use_cache
        if self._listed is None or not may_reuse:
            result = await self._request("list_tools", self.discovery_timeout)
            self._listed = [
                {
                    "name": tool.name,
                    "original_name": tool.name,
                    "description": tool.description or "",
                    "inputSchema": tool.inputSchema,
                }
                for tool in result.tools
            ]
        return self._listed

    async def call_tool(self, tool_name: str, arguments: dict[str, Any] | None = None) -> Any:
        """Call a tool and return its text, or its whole result if that is not text.

        Raises:
            MCPServerError: The server does not respond.
        """
        result = await self.call_tool_result(tool_name, arguments)
        texts = [block.text for block in result.content if getattr(block, "type", "") == "text"]
        return "\n".join(texts) if texts and len(texts) == len(result.content) else result

    async def call_tool_result(self, tool_name: str, arguments: dict[str, Any] | None = None) -> Any:
        """Call a tool and return the result object of the `mcp` package, including `isError`.

        Raises:
            MCPServerError: The server does not respond.
        """
        return await self._request("call_tool", self.execution_timeout, tool_name, arguments or {})

    async def list_prompts(self) -> list[dict[str, Any]]:
        """Return the server's prompts as dicts with "name", "description" and "arguments".

        Raises:
            MCPServerError: The server does not respond.
        """
        result = await self._request("list_prompts", self.discovery_timeout)
        return [
            {
                "name": prompt.name,
                "description": prompt.description or "",
                "arguments": [item.model_dump() for item in prompt.arguments or ()],
            }
            for prompt in result.prompts
        ]

    async def get_prompt(self, prompt_name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return a prompt as a dict with "name", "messages" and "arguments".

        Raises:
            MCPServerError: The server does not respond.
        """
        result = await self._request("get_prompt", self.execution_timeout, prompt_name, arguments or {})
        messages = [{"role": item.role, "content": item.content} for item in result.messages]
        return {"name": prompt_name, "messages": messages, "arguments": arguments or {}}

    async def _request(self, method: str, seconds: float, *arguments: Any) -> Any:
        if not self.connected:
            await self.connect()
        try:
            async with asyncio.timeout(seconds):
                return await getattr(self.session, method)(*arguments)
        except TimeoutError as error:
            raise MCPServerError(f"`{method}` of the MCP server timed out after {seconds:g} seconds") from error
        except _package("mcp").McpError as error:
            raise MCPServerError(f"`{method}` of the MCP server failed: {error}") from error

    async def __aenter__(self) -> Self:
        return await self.connect()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.disconnect()


def _package(name: str) -> Any:
    return require(name, extra="mcp", purpose="a client of MCP servers")
