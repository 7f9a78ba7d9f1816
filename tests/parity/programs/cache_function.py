"""A cache_function that keeps some results."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("sounded", place)
    return "DEPTH-1" if place == "quay" else "DEPTH-2"


def keep(args, result):
    return result == "DEPTH-1"


depth.cache_function = keep
agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
one = Task(description="One DESC-1", expected_output="Metres", agent=agent)
two = Task(description="Two DESC-2", expected_output="Metres", agent=agent)
result = Crew(agents=[agent], tasks=[one, two], cache=True).kickoff()
print(result.raw)

script = {
    "DESC-2": [{"tool": ["depth", {"place": "quay"}]}, {"tool": ["depth", {"place": "pier"}]}, "OUT-2"],
    "DESC-1": [{"tool": ["depth", {"place": "quay"}]}, {"tool": ["depth", {"place": "pier"}]}, "OUT-1"],
}
