"""MCP clients and tools that programs create directly, with CrewAI's classes."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crewgraph_compat.stand_ins.mcp.client import (
    BaseTransport,
    HTTPTransport,
    MCPClient,
    SSETransport,
    StdioTransport,
    TransportType,
)
from crewgraph_compat.stand_ins.mcp.tools import MCPNativeTool, MCPToolWrapper
from pydantic import BaseModel
from servers.mcp_process import over_stdio, running

from crewgraph import Agent, ScriptedLLM
from crewgraph.errors import MCPServerError, ToolFailed
from crewgraph.tools.mcp import MCPServerStdio
from crewgraph.tools.mcp.tool import MCPToolResolver


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes.txt"


@pytest.fixture(params=["stdio", "streamable-http", "sse"])
def transport(request: pytest.FixtureRequest, notes: Path) -> Iterator[BaseTransport]:
    """A way to a server of each kind."""
    if request.param == "stdio":
        yield StdioTransport(**over_stdio(notes))
        return
    with running(notes, request.param) as server:
        yield SSETransport(server.url) if request.param == "sse" else HTTPTransport(server.url)


class Place(BaseModel):
    place: str


def worker() -> Agent:
    return Agent(role="Pilot", goal="Know", backstory="Careful.", llm=ScriptedLLM([]))


def test_a_client_lists_tools_and_calls_them(transport: BaseTransport):
    async def used() -> tuple[list[str], Any, bool]:
        async with MCPClient(transport, cache_tools_list=True) as client:
            tools = await client.list_tools()
            assert await client.list_tools() is tools
            depth = await client.call_tool("depth", {"place": "Brest"})
            return [tool["name"] for tool in tools], depth, client.connected

    names, depth, connected = asyncio.run(used())
    assert names[:2] == ["depth", "note"]
    assert "Brest" in depth or depth.strip()
    assert connected
    assert not transport.connected


def test_a_client_without_a_server_says_so():
    client = MCPClient(StdioTransport("/nowhere/server"))
    with pytest.raises(MCPServerError, match="cannot connect over stdio"):
        asyncio.run(client.connect())
    with pytest.raises(RuntimeError, match="call `connect"):
        client.session  # noqa: B018
    with pytest.raises(RuntimeError, match="call `connect"):
        client.transport.read_stream  # noqa: B018


def test_transports_tell_what_they_are():
    kinds = [
        StdioTransport("a"),
        HTTPTransport("http://x"),
        HTTPTransport("http://x", streamable=False),
        SSETransport("http://x"),
    ]
    assert [one.transport_type for one in kinds] == [
        TransportType.STDIO,
        TransportType.STREAMABLE_HTTP,
        TransportType.HTTP,
        TransportType.SSE,
    ]


def test_a_tool_is_described_by_hand(notes: Path):
    with running(notes, "streamable-http") as server:
        made = MCPToolWrapper(
            mcp_server_params={"url": server.url},
            tool_name="depth",
            tool_schema={"description": "How deep it is", "args_schema": Place},
            server_name="harbour",
        )
        assert (made.name, made.server_name, made.original_tool_name) == ("harbour_depth", "harbour", "depth")
        assert made._original_tool_name == "depth"  # pyright: ignore[reportPrivateUsage]
        assert made.mcp_server_params == {"url": server.url}
        assert made.run(place="Brest")


def test_a_tool_makes_a_client_for_each_call(transport: BaseTransport):
    made = MCPNativeTool(lambda: MCPClient(transport), "depth", {"description": "How deep"}, "harbour")
    assert (made.name, made.original_tool_name, made.server_reference) == ("harbour_depth", "depth", None)
    assert made.run(place="Brest") == asyncio.run(made.arun(place="Brest"))


def test_a_tool_without_a_server_fails():
    made = MCPNativeTool(lambda: MCPClient(StdioTransport("/nowhere/server")), "depth", {}, "harbour")
    with pytest.raises(ToolFailed, match="`harbour_depth` failed"):
        made.run(place="Brest")


def test_a_resolver_finds_the_tools_of_servers(notes: Path):
    resolver = MCPToolResolver(agent=worker(), logger=logging.getLogger("mine"))
    assert resolver.resolve([]) == []
    server = MCPServerStdio(**over_stdio(notes))
    assert "depth" in [tool.name for tool in resolver.resolve([server])]
    assert resolver.clients == []
    resolver.cleanup()
    with running(notes, "streamable-http") as http:
        assert [tool.name for tool in resolver.resolve([f"{http.url}#depth"])] == ["depth"]
