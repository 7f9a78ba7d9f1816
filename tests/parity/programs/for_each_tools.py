"""kickoff_for_each of a crew whose agent uses a tool, with the same arguments each time."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("sounded", place)
    return "DEPTH-1"


agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
task = Task(description="How deep is {port}?", expected_output="Metres", agent=agent)
crew = Crew(agents=[agent], tasks=[task], cache=True)
results = crew.kickoff_for_each(inputs=[{"port": "PORT-1"}, {"port": "PORT-2"}])
print([one.raw for one in results])

script = {
    "PORT-1": [{"tool": ["depth", {"place": "quay"}]}, "METRES-1"],
    "PORT-2": [{"tool": ["depth", {"place": "quay"}]}, "METRES-2"],
}
