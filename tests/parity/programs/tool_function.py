"""A function made a tool with @tool, called once."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("Tide table")
def tide_table(harbour: str) -> str:
    """Look up the high tides of a harbour."""
    print("looked up", harbour)
    return "HIGH-1 at 06:12"


pilot = Agent(role="Pilot", goal="Bring ships in", backstory="Thirty years at sea.", tools=[tide_table])
ask = Task(description="When is high tide in Brest? DESC-1", expected_output="A time", agent=pilot)
result = Crew(agents=[pilot], tasks=[ask]).kickoff()
print(result.raw)

script = {
    "DESC-1": [{"tool": ["tide_table", {"harbour": "Brest"}]}, "It is at 06:12 TIME-1"],
}
