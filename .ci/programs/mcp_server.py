"""A crew with the tools of an MCP server."""

import os
import sys

from crewai import Agent, Crew, Task
from crewai.mcp import MCPServerStdio

server = MCPServerStdio(
    command=sys.executable, args=[f"{os.environ['CHECKOUT']}/tests/servers/mcp_server.py", "notes.txt"]
)
pilot = Agent(role="Pilot", goal="Know the tides", backstory="At sea.", mcps=[server], llm="gpt-4o-mini")
look = Task(description="The tide", expected_output="A time", agent=pilot)
print(Crew(agents=[pilot], tasks=[look]).kickoff())
