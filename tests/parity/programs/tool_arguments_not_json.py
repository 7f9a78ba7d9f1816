"""The model's arguments for a tool are no JSON, then they are."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("measured", place)
    return "DEPTH-1"


agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
task = Task(description="How deep? DESC-1", expected_output="Metres", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["depth", "{place: quay"]}, {"tool": ["depth", {"place": "quay"}]}, "METRES-1"]}
