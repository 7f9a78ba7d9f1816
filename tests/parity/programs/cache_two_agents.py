"""Two agents of a crew that keeps results call one tool alike."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("sounded", place)
    return "DEPTH-1"


pilot = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
clerk = Agent(role="Clerk", goal="Note", backstory="Notes.", tools=[depth])
one = Task(description="One DESC-1", expected_output="Metres", agent=pilot)
two = Task(description="Two DESC-2", expected_output="Metres", agent=clerk)
result = Crew(agents=[pilot, clerk], tasks=[one, two], cache=True).kickoff()
print(result.raw)

script = {
    "DESC-2": [{"tool": ["depth", {"place": "quay"}]}, "OUT-2"],
    "DESC-1": [{"tool": ["depth", {"place": "quay"}]}, "OUT-1"],
}
