"""Emits events for connections to MCP servers and calls of their tools."""

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
from crewgraph.schema import PlainDict
from crewgraph.tools.mcp.server import MCPServer

__all__ = ["connection_events", "execution_events"]


@contextmanager
def connection_events(server: MCPServer, agent: object) -> Generator[None]:
    """Emit events around connecting to a server and listing its tools."""
    fields = {**_server_fields(server), "from_agent": agent}
    _emit(server, MCPConnectionStartedEvent, fields, connect_timeout=server.connect_timeout)
    started = datetime.now(UTC)
    try:
        yield
    except RunError as error:
        failure = {"error": str(error), "error_type": type(error).__name__}
        _emit(server, MCPConnectionFailedEvent, fields, **failure, started_at=started, failed_at=datetime.now(UTC))
        raise
    ended = datetime.now(UTC)
    _emit(
        server,
        MCPConnectionCompletedEvent,
        fields,
        started_at=started,
        completed_at=ended,
        connection_duration_ms=(ended - started).total_seconds() * 1000,
    )


@contextmanager
def execution_events(server: MCPServer, tool: str, args: PlainDict) -> Generator[PlainDict]:
    """Emit events around a tool call; the block stores the result under "result" of the yielded dict."""
    fields = {**_server_fields(server), "tool_name": tool, "tool_args": args}
    _emit(server, MCPToolExecutionStartedEvent, fields)
    started, outcome = datetime.now(UTC), dict[str, Any]()
    try:
        yield outcome
    except RunError as error:
        failure = {"error": str(error), "error_type": type(error).__name__}
        _emit(server, MCPToolExecutionFailedEvent, fields, **failure, started_at=started, failed_at=datetime.now(UTC))
        raise
    ended = datetime.now(UTC)
    _emit(
        server,
        MCPToolExecutionCompletedEvent,
        fields,
        result=outcome.get("result"),
        started_at=started,
        completed_at=ended,
        execution_duration_ms=(ended - started).total_seconds() * 1000,
    )


def _server_fields(server: MCPServer) -> dict[str, object]:
    return {"server_name": server.name, "server_url": server.address, "transport_type": server.transport}


def _emit(source: MCPServer, event: type[MCPEvent], fields: dict[str, Any], **extra: Any) -> None:
    if crewai_event_bus.wants(event):
        crewai_event_bus.emit(source, event(**fields, **extra))
