"""An agent with a tool whose model answers at once, in plain text without the words of the protocol."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    return "DEPTH-1"


pilot = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
task = Task(description="How deep is it? DESC-1", expected_output="Metres", agent=pilot)
result = Crew(agents=[pilot], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"text": "About METRES-1, says the chart."}]}
