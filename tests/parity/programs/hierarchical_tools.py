"""The worker of a hierarchical crew uses its tool."""

from crewai import Agent, Crew, Process, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("sounded", place)
    return "DEPTH-1"


pilot = Agent(role="Pilot", goal="Sound", backstory="Sounds ROLE-1.", tools=[depth])
task = Task(description="How deep is it? DESC-1", expected_output="Metres")
crew = Crew(agents=[pilot], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Pilot"}]},
        "OUT-1",
    ],
    "WORK-1": [{"tool": ["depth", {"place": "quay"}]}, "METRES-1"],
}
