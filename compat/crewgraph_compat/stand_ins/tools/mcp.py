"""Tools of MCP servers, made and resolved by hand."""

from typing import Any

from pydantic import BaseModel, PrivateAttr

from crewgraph.schema import from_json_schema
from crewgraph.tools.mcp.reference import reference
from crewgraph.tools.mcp.tool import MCPTool

__all__ = ["MCPToolWrapper"]


class MCPToolWrapper(MCPTool):
    """A tool of an MCP server over HTTP, described by hand; `Agent(mcps=[...])` finds the tools of a server itself.

    Args:
        mcp_server_params: "url" and perhaps "headers", or "command", "args" and "env".
        tool_name: what the server calls it.
        tool_schema: its "description", and what it takes as "args_schema", a model, or "inputSchema", a JSON schema.
        server_name: stands before its name.
    """

    _params: dict[str, Any] = PrivateAttr()
    _named: str = PrivateAttr()

    def __init__(
        self, mcp_server_params: dict[str, Any], tool_name: str, tool_schema: dict[str, Any], server_name: str
    ) -> None:
        super().__init__(
            name=f"{server_name}_{tool_name}",
            description=tool_schema.get("description") or f"Tool {tool_name} from {server_name}",
            args_schema=_taken(tool_schema),
            server=reference(mcp_server_params).server,
            original_tool_name=tool_name,
        )
        self._params, self._named = mcp_server_params, server_name

    @property
    def mcp_server_params(self) -> dict[str, Any]:
        """Where the server is."""
        return self._params

    @property
    def server_name(self) -> str:
        """What stands before its name."""
        return self._named

    @property
    def _original_tool_name(self) -> str:
        return self.original_tool_name


def _taken(schema: dict[str, Any]) -> type[BaseModel]:
    own = schema.get("args_schema")
    if isinstance(own, type) and issubclass(own, BaseModel):
        return own
    return from_json_schema(schema.get("inputSchema") or {"type": "object", "properties": {}}, name="Arguments")
