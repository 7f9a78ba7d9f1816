"""Crew(cache=False): the same call in two tasks."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("sounded", place)
    return "DEPTH-1"


agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth], cache=False)
one = Task(description="One DESC-1", expected_output="Metres", agent=agent)
two = Task(description="Two DESC-2", expected_output="Metres", agent=agent)
result = Crew(agents=[agent], tasks=[one, two], cache=False).kickoff()
print(result.raw)

script = {
    "DESC-2": [{"tool": ["depth", {"place": "quay"}]}, "OUT-2"],
    "DESC-1": [{"tool": ["depth", {"place": "quay"}]}, "OUT-1"],
}
