"""Create and resolve MCP tools directly."""

from collections.abc import Callable
from typing import Any, Final, cast

from pydantic import BaseModel, PrivateAttr

from crewgraph.core.loops.threads import LoopThread
from crewgraph.errors import ToolFailed
from crewgraph.schema import from_json_schema
from crewgraph.tools.base import BaseTool
from crewgraph.tools.mcp.server import parse_reference
from crewgraph.tools.mcp.tool import MCPTool, read_result

__all__ = [
    "MCP_CONNECTION_TIMEOUT",
    "MCP_DISCOVERY_TIMEOUT",
    "MCP_MAX_RETRIES",
    "MCP_RESOLVER_TIMEOUT",
    "MCP_TOOL_EXECUTION_TIMEOUT",
    "MCPNativeTool",
    "MCPToolWrapper",
]

MCP_CONNECTION_TIMEOUT: Final = 15
"""The connection timeout in seconds; crewgraph's server descriptions call it `connect_timeout`."""

MCP_DISCOVERY_TIMEOUT: Final = 15
"""The timeout for listing tools, in seconds."""

MCP_TOOL_EXECUTION_TIMEOUT: Final = 60
"""The timeout of a tool call in seconds; crewgraph's server descriptions call it `execution_timeout`."""

MCP_MAX_RETRIES: Final = 3
"""CrewAI's number of retries; here a lost connection is reopened once, and no call is repeated."""

MCP_RESOLVER_TIMEOUT: Final = 10
"""The connection timeout of CrewAI's resolver, in seconds."""

_loop = LoopThread("crewgraph-mcp-clients")


class MCPToolWrapper(MCPTool):
    """A tool of an MCP server over HTTP, described explicitly; `Agent(mcps=[...])` discovers a server's tools.

    Args:
        mcp_server_params: "url" and perhaps "headers", or "command", "args" and "env".
        tool_name: the tool's name on the server.
        tool_schema: its "description" and arguments, as a model "args_schema" or a JSON schema "inputSchema".
        server_name: the prefix of its name.
    """

    _params: dict[str, Any] = PrivateAttr()
    _named: str = PrivateAttr()

    def __init__(
        self, mcp_server_params: dict[str, Any], tool_name: str, tool_schema: dict[str, Any], server_name: str
    ) -> None:
        super().__init__(
            name=f"{server_name}_{tool_name}",
            description=tool_schema.get("description") or f"Tool {tool_name} from {server_name}",
            args_schema=_arguments_model(tool_schema),
            server=parse_reference(mcp_server_params).server,
            original_tool_name=tool_name,
        )
        self._params, self._named = mcp_server_params, server_name

    @property
    def mcp_server_params(self) -> dict[str, Any]:
        """The parameters of the server."""
        return self._params

    @property
    def server_name(self) -> str:
        """The prefix of the tool's name."""
        return self._named

    @property
    def _original_tool_name(self) -> str:
        return self.original_tool_name


class MCPNativeTool(BaseTool):
    """A tool of an MCP server that creates a client for each call.

    Args:
        client_factory: creates a client with `connect`, `call_tool` and `disconnect`, like `MCPClient`.
        tool_name: the tool's name on the server.
        tool_schema: its "description" and arguments; see `MCPToolWrapper`.
        server_name: the prefix of its name.
        original_tool_name: its name on the server, if different.
        server_reference: the server as the user referred to it.
    """

    _factory: Callable[[], Any] = PrivateAttr()
    _original: str = PrivateAttr()
    _named: str = PrivateAttr()
    _reference: str | None = PrivateAttr()

    def __init__(
        self,
        client_factory: Callable[[], Any],
        tool_name: str,
        tool_schema: dict[str, Any],
        server_name: str,
        original_tool_name: str | None = None,
        server_reference: str | None = None,
    ) -> None:
        super().__init__(
            name=f"{server_name}_{tool_name}",
            description=tool_schema.get("description") or f"Tool {tool_name} from {server_name}",
            args_schema=_arguments_model(tool_schema),
        )
        self._factory, self._named, self._reference = client_factory, server_name, server_reference
        self._original = original_tool_name or tool_name

    @property
    def original_tool_name(self) -> str:
        """The tool's name on the server."""
        return self._original

    @property
    def server_name(self) -> str:
        """The prefix of the tool's name."""
        return self._named

    @property
    def server_reference(self) -> str | None:
        """The server as the user referred to it."""
        return self._reference

    def _run(self, **kwargs: Any) -> Any:
        """Call the tool.

        Raises:
            ToolFailed: The server reports an error or does not respond.
        """
        return _loop.run(self._done(kwargs))

    async def _arun(self, **kwargs: Any) -> Any:
        """Call the tool on an event loop."""
        return await _loop.arun(self._done(kwargs))

    async def _done(self, arguments: dict[str, Any]) -> Any:
        client = self._factory()
        try:
            await client.connect()
            try:
                return _read(await client.call_tool(self._original, arguments))
            finally:
                await client.disconnect()
        except (ConnectionError, TimeoutError, RuntimeError) as error:
            raise ToolFailed(f"`{self.name}` failed: {error}") from error


def _arguments_model(schema: dict[str, Any]) -> type[BaseModel]:
    own = schema.get("args_schema")
    if isinstance(own, type) and issubclass(own, BaseModel):
        return own
    return from_json_schema(schema.get("inputSchema") or {"type": "object", "properties": {}}, name="Arguments")


def _read(answer: Any) -> Any:
    """Return a client's result as a tool result: a text, or content blocks if there are images."""
    if hasattr(answer, "model_dump"):
        answer = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    values = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    return read_result(values) if "content" in values else answer  # pyright: ignore[reportUnknownVariableType]
