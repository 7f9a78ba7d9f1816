"""A tool of an MCP server that a program describes itself."""

from typing import Any

from pydantic import BaseModel, PrivateAttr

from crewgraph.schema import from_json_schema
from crewgraph.tools.mcp.server import parse_reference
from crewgraph.tools.mcp.tool import MCPTool


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


def _arguments_model(schema: dict[str, Any]) -> type[BaseModel]:
    own = schema.get("args_schema")
    if isinstance(own, type) and issubclass(own, BaseModel):
        return own
    return from_json_schema(schema.get("inputSchema") or {"type": "object", "properties": {}}, name="Arguments")
