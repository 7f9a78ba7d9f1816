"""MCP servers as sources of tools: the values of `Agent(mcps=[...])`."""

from crewgraph.tools.mcp.server import (
    MCPServerConfig,
    MCPServerHTTP,
    MCPServerSSE,
    MCPServerStdio,
    StaticToolFilter,
    ToolFilter,
    ToolFilterContext,
    create_dynamic_tool_filter,
    create_static_tool_filter,
)
from crewgraph.tools.mcp.tool import MCPTool

__all__ = [
    "MCPServerConfig",
    "MCPServerHTTP",
    "MCPServerSSE",
    "MCPServerStdio",
    "MCPTool",
    "StaticToolFilter",
    "ToolFilter",
    "ToolFilterContext",
    "create_dynamic_tool_filter",
    "create_static_tool_filter",
]
