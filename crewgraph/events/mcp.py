"""Events of MCP servers."""

from datetime import datetime
from typing import Any

from crewgraph.events.base import WorkEvent
from crewgraph.schema import PlainDict


class MCPEvent(WorkEvent):
    """An event of a server."""

    server_name: str
    """The server's name, derived from its address or command."""

    server_url: str | None = None
    """Its address without secrets; None for a local program."""

    transport_type: str | None = None
    """The transport: stdio, sse or streamable_http."""


class MCPConnectionStartedEvent(MCPEvent):
    """A connection to a server starts, to list its tools."""

    type: str = "mcp_connection_started"

    connect_timeout: float | None = None
    """The timeout in seconds."""

    is_reconnect: bool = False
    """Whether there was a connection before."""


class MCPConnectionCompletedEvent(MCPEvent):
    """A server has listed its tools."""

    type: str = "mcp_connection_completed"

    started_at: datetime | None = None
    """When the connection started."""

    completed_at: datetime | None = None
    """When the tools were listed."""

    connection_duration_ms: float | None = None
    """The duration in milliseconds."""

    is_reconnect: bool = False
    """Whether there was a connection before."""


class MCPConnectionFailedEvent(MCPEvent):
    """The connection to a server, or listing its tools, failed."""

    type: str = "mcp_connection_failed"

    error: str
    """The reason."""

    error_type: str | None = None
    """The class of the error."""

    status_code: int | None = None
    """The HTTP status, if any."""

    started_at: datetime | None = None
    """When the connection started."""

    failed_at: datetime | None = None
    """When it failed."""


class MCPToolExecutionStartedEvent(MCPEvent):
    """A tool call is sent to a server."""

    type: str = "mcp_tool_execution_started"

    tool_name: str
    """The tool, as the server calls it."""

    tool_args: PlainDict | None = None
    """Its arguments."""


class MCPToolExecutionCompletedEvent(MCPEvent):
    """A server has executed a tool call."""

    type: str = "mcp_tool_execution_completed"

    tool_name: str
    """The tool, as the server calls it."""

    tool_args: PlainDict | None = None
    """Its arguments."""

    result: Any = None
    """The result, in recorded form."""

    started_at: datetime | None = None
    """When the call was sent."""

    completed_at: datetime | None = None
    """When the answer arrived."""

    execution_duration_ms: float | None = None
    """The duration in milliseconds."""


class MCPToolExecutionFailedEvent(MCPEvent):
    """A server did not execute a tool call."""

    type: str = "mcp_tool_execution_failed"

    tool_name: str
    """The tool, as the server calls it."""

    tool_args: PlainDict | None = None
    """Its arguments."""

    error: str
    """The reason."""

    error_type: str | None = None
    """The class of the error."""

    started_at: datetime | None = None
    """When the call was sent."""

    failed_at: datetime | None = None
    """When it failed."""
