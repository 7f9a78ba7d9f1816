"""Telling listeners what happens between an agent and an MCP server."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from crewgraph.errors import RunError
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.mcp import (
    MCPConnectionCompletedEvent,
    MCPConnectionFailedEvent,
    MCPConnectionStartedEvent,
    MCPEvent,
    MCPToolExecutionCompletedEvent,
    MCPToolExecutionFailedEvent,
    MCPToolExecutionStartedEvent,
)
from crewgraph.tools.mcp.server import MCPServer

__all__ = ["told_connection", "told_execution"]


@contextmanager
def told_connection(server: MCPServer, agent: Any) -> Generator[None]:
    """A block in which a server is connected to and asked for its tools."""
    about = {**_about(server), "from_agent": agent}
    _tell(server, MCPConnectionStartedEvent, about, connect_timeout=server.connect_timeout)
    started = datetime.now(UTC)
    try:
        yield
    except RunError as error:
        told = {"error": str(error), "error_type": type(error).__name__}
        _tell(server, MCPConnectionFailedEvent, about, **told, started_at=started, failed_at=datetime.now(UTC))
        raise
    ended = datetime.now(UTC)
    _tell(
        server,
        MCPConnectionCompletedEvent,
        about,
        started_at=started,
        completed_at=ended,
        connection_duration_ms=(ended - started).total_seconds() * 1000,
    )


@contextmanager
def told_execution(server: MCPServer, tool: str, args: dict[str, Any]) -> Generator[dict[str, Any]]:
    """A block in which a server carries out a tool; what it gave is to be put into "result" of the dict."""
    about = {**_about(server), "tool_name": tool, "tool_args": args}
    _tell(server, MCPToolExecutionStartedEvent, about)
    started, done = datetime.now(UTC), dict[str, Any]()
    try:
        yield done
    except RunError as error:
        told = {"error": str(error), "error_type": type(error).__name__}
        _tell(server, MCPToolExecutionFailedEvent, about, **told, started_at=started, failed_at=datetime.now(UTC))
        raise
    ended = datetime.now(UTC)
    _tell(
        server,
        MCPToolExecutionCompletedEvent,
        about,
        result=done.get("result"),
        started_at=started,
        completed_at=ended,
        execution_duration_ms=(ended - started).total_seconds() * 1000,
    )


def _about(server: MCPServer) -> dict[str, Any]:
    return {"server_name": server.name, "server_url": server.address, "transport_type": server.transport}


def _tell(source: MCPServer, event: type[MCPEvent], about: dict[str, Any], **more: Any) -> None:
    if crewai_event_bus.wants(event):
        crewai_event_bus.emit(source, event(**about, **more))
