"""The tools of the MCP servers that a project names: `mcp_server_params` and `self.get_mcp_tools(...)`."""

from collections.abc import Sequence
from typing import Any, cast

from crewgraph.errors import DefinitionError
from crewgraph.tools.mcp.server import Reference, reference
from crewgraph.tools.mcp.tool import MCPTool, tools_of

__all__ = ["get_mcp_tools"]

_KEPT = "_mcp_tools"


def get_mcp_tools(self: Any, *names: str) -> list[MCPTool]:
    """The tools of the MCP servers in `mcp_server_params`: those of the names, else all; none where there are no servers.

    The servers are asked once for each object of the project. `mcp_connect_timeout` is how many seconds they have to answer.

    Raises:
        DefinitionError: a name is no tool's, or `mcp_server_params` lead to no server.
        MCPServerError: a server is not there.
        MissingExtra: the package for MCP is not installed.
    """
    given: Any = getattr(self, "mcp_server_params", None)
    if not given:
        return []
    own = cast("dict[str, Any]", vars(self))
    if _KEPT not in own:
        servers = list(cast("Sequence[Any]", given)) if isinstance(given, (list, tuple)) else [given]
        seconds = getattr(self, "mcp_connect_timeout", None)
        own[_KEPT] = tools_of([_in_time(reference(one), seconds) for one in servers], self)
    tools: list[MCPTool] = own[_KEPT]
    if unknown := [name for name in names if all(name not in _names(tool) for tool in tools)]:
        there = ", ".join(f"`{tool.name}`" for tool in tools) or "none at all"
        raise DefinitionError(
            f"`{type(self).__name__}.get_mcp_tools` is asked for {', '.join(f'`{name}`' for name in unknown)}, which the servers "
            f"in `mcp_server_params` do not have. They have: {there}."
        )
    return [tool for tool in tools if not names or any(name in _names(tool) for name in names)]


def _in_time(one: Reference, seconds: Any) -> Reference:
    if seconds is None:
        return one
    return Reference(one.server.model_copy(update={"connect_timeout": float(seconds)}), one.only)


def _names(tool: MCPTool) -> tuple[str, str]:
    return tool.name, tool.original_tool_name
