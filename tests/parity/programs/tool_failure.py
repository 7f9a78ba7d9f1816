"""A tool returns a ToolFailure, another one raises: the output lists both, as tool_reported and exception."""

from crewai import Agent, Crew, Task
from crewai.tools import ToolFailure, tool


@tool("gauge")
def gauge(place: str) -> str:
    """Read a gauge."""
    return ToolFailure(message="no quota left", code="429", retryable=True)


@tool("clock")
def clock(place: str) -> str:
    """Read a clock."""
    raise ValueError("stopped")


pilot = Agent(role="Pilot", goal="Bring ships in", backstory="Thirty years at sea.", tools=[gauge, clock])
ask = Task(name="ask", description="How deep is it? DESC-1", expected_output="Metres", agent=pilot)
result = Crew(agents=[pilot], tasks=[ask]).kickoff()
print(result.raw, result.has_tool_failures)
for record in result.tool_failures:
    failure = record.failure
    print(record.tool_name, failure.message, failure.reason.value, failure.code, failure.retryable, record.task_name)

script = {
    "DESC-1": [{"tool": ["gauge", {"place": "Brest"}]}, {"tool": ["clock", {"place": "Brest"}]}, "Unknown DEEP-1"]
}
