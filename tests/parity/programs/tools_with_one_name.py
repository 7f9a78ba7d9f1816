"""Two tools of one name."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def first(place: str) -> str:
    """How deep the water is."""
    return "DEPTH-1"


@tool("depth")
def other(place: str) -> str:
    """How deep the water is, too."""
    return "DEPTH-2"


agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[first, other])
task = Task(description="How deep? DESC-1", expected_output="Metres", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["depth", {"place": "quay"}]}, "METRES-1"]}
