"""The crew's policy is that a failure of a tool fails the task."""

from crewai import Agent, Crew, Task
from crewai.tools import ToolExecutionFailedError, tool


@tool("clock")
def clock(place: str) -> str:
    """Read a clock."""
    raise ValueError("stopped")


pilot = Agent(role="Pilot", goal="Bring ships in", backstory="Thirty years at sea.", tools=[clock])
ask = Task(name="ask", description="How late is it? DESC-1", expected_output="A time", agent=pilot)
try:
    Crew(agents=[pilot], tasks=[ask], tool_failure_policy="raise").kickoff()
except ToolExecutionFailedError as error:
    print(error.record.tool_name, error.record.message, len(pilot.last_tool_failures))

script = {"DESC-1": [{"tool": ["clock", {"place": "Brest"}]}, "Unknown LATE-1"]}
