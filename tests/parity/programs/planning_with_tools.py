"""Planning for a task whose agent has a tool, with inputs."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    return "DEPTH-1"


agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
task = Task(description="How deep is {port}? DESC-1", expected_output="Metres", agent=agent)
result = Crew(agents=[agent], tasks=[task], planning=True, planning_llm="gpt-4o").kickoff(inputs={"port": "PORT-1"})
print(result.raw)

script = {
    "PLAN-1": [{"tool": ["depth", {"place": "quay"}]}, "METRES-1"],
    "DESC-1": [{"json": {"list_of_plans_per_task": [{"task_number": 1, "task": "DESC-1", "plan": " as in PLAN-1"}]}}],
}
