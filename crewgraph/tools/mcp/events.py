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

__all__ = ["connection_events", "execution_events"]


@contextmanager
def connection_events(server: MCPServer, agent: Any) -> Generator[None]:
    """A block in which a server is connected to and asked for its tools."""
    about = {**_server_fields(server), "from_agent": agent}
    _emit(server, MCPConnectionStartedEvent, about, connect_timeout=server.connect_timeout)
    started = datetime.now(UTC)
    try:
        yield
    except RunError as error:
        told = {"error": str(error), "error_type": type(error).__name__}
        _emit(server, MCPConnectionFailedEvent, about, **told, started_at=started, failed_at=datetime.now(UTC))
        raise
    ended = datetime.now(UTC)
    _emit(
        server,
        MCPConnectionCompletedEvent,
        about,
        started_at=started,
        completed_at=ended,
        connection_duration_ms=(ended - started).total_seconds() * 1000,
    )


@contextmanager
def execution_events(server: MCPServer, tool: str, args: dict[str, Any]) -> Generator[dict[str, Any]]:
    """A block in which a server carries out a tool; what it gave is to be put into "result" of the dict."""
    about = {**_server_fields(server), "tool_name": tool, "tool_args": args}
    _emit(server, MCPToolExecutionStartedEvent, about)
    started, done = datetime.now(UTC), dict[str, Any]()
    try:
        yield done
    except RunError as error:
        told = {"error": str(error), "error_type": type(error).__name__}
        _emit(server, MCPToolExecutionFailedEvent, about, **told, started_at=started, failed_at=datetime.now(UTC))
        raise
    ended = datetime.now(UTC)
    _emit(
        server,
        MCPToolExecutionCompletedEvent,
        about,
        result=done.get("result"),
        started_at=started,
        completed_at=ended,
        execution_duration_ms=(ended - started).total_seconds() * 1000,
    )


def _server_fields(server: MCPServer) -> dict[str, Any]:
    return {"server_name": server.name, "server_url": server.address, "transport_type": server.transport}


def _emit(source: MCPServer, event: type[MCPEvent], about: dict[str, Any], **more: Any) -> None:
    if crewai_event_bus.wants(event):
        crewai_event_bus.emit(source, event(**about, **more))
