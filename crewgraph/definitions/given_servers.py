"""MCP servers as users give them to agents."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator

from crewgraph.extras import load

__all__ = ["GivenServers"]


def _described(servers: list[Any] | None) -> list[Any] | None:
    """What was given, dicts read as the servers they describe; addresses are looked at when a crew is compiled."""
    if servers is None:
        return None
    if not any(isinstance(one, Mapping) for one in servers):
        return servers
    reference = load("crewgraph.tools.mcp.server").reference
    return [reference(one).server if isinstance(one, Mapping) else one for one in servers]


GivenServers = Annotated[list[Any] | None, AfterValidator(_described)]
"""Addresses, `MCPServerStdio`, `MCPServerHTTP` and `MCPServerSSE`, or their fields as dicts."""
