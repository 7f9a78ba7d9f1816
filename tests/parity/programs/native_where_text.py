"""The model answers with a native tool call, whatever was asked for, then in the text protocol."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("measured", place)
    return "DEPTH-1"


pilot = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
task = Task(description="How deep is it? DESC-1", expected_output="Metres", agent=pilot)
result = Crew(agents=[pilot], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"native": ["depth", {"place": "quay"}]}, "METRES-1"]}
