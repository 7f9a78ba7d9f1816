"""The tools of a hierarchical task."""

from crewai import Agent, Crew, Process, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("sounded", place)
    return "DEPTH-1"


pilot = Agent(role="Pilot", goal="Sound", backstory="Sounds ROLE-1.")
task = Task(description="How deep is it? DESC-1", expected_output="Metres", tools=[depth])
crew = Crew(agents=[pilot], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["depth", {"place": "quay"}]}, "OUT-1"]}
