"""A manager_agent with tools of its own."""

from crewai import Agent, Crew, Process, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    return "DEPTH-1"


boss = Agent(role="Boss", goal="Lead", backstory="Leads.", tools=[depth])
writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text")
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_agent=boss)
try:
    result = crew.kickoff()
    print(result.raw)
except Exception:
    print("refused")

script = {"DESC-1": ["OUT-1"]}
