"""A coworker uses its own tool for the work it was handed."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("sounded", place)
    return "DEPTH-1"


writer = Agent(role="Writer", goal="Write", backstory="Writes.", allow_delegation=True)
pilot = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
task = Task(description="Write DESC-1", expected_output="Text", agent=writer)
result = Crew(agents=[writer, pilot], tasks=[task]).kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Pilot"}]},
        "OUT-1",
    ],
    "WORK-1": [{"tool": ["depth", {"place": "quay"}]}, "METRES-1"],
}
