"""MCP clients and tools that programs create directly, with CrewAI's classes."""

import logging
from pathlib import Path

import pytest
from crewgraph_compat.stand_ins.mcp import MCPToolWrapper
from pydantic import BaseModel
from servers.mcp_process import over_stdio, running

from crewgraph import Agent, ScriptedLLM
from crewgraph.tools.mcp import MCPServerStdio
from crewgraph.tools.mcp.tool import MCPToolResolver


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes.txt"


class Place(BaseModel):
    place: str


def worker() -> Agent:
    return Agent(role="Pilot", goal="Know", backstory="Careful.", llm=ScriptedLLM([]))


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


def test_a_resolver_finds_the_tools_of_servers(notes: Path):
    resolver = MCPToolResolver(agent=worker(), logger=logging.getLogger("mine"))
    assert resolver.resolve([]) == []
    server = MCPServerStdio(**over_stdio(notes))
    assert "python_launcher.py_depth" in [tool.name for tool in resolver.resolve([server])]
    assert resolver.clients == []
    resolver.cleanup()
    with running(notes, "streamable-http") as http:
        host = http.url.split("/")[2].replace(".", "_")  # the names of CrewAI
        assert [tool.name for tool in resolver.resolve([f"{http.url}#depth"])] == [f"mcp_{host}_mcp_depth"]
