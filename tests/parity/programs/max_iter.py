"""max_iter=2, and a model that would go on calling a tool for ever."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("look")
def look(where: str) -> str:
    """Looks somewhere."""
    print("looked", where)
    return "NOTHING-1"


scout = Agent(role="Scout", goal="Look", backstory="Looks.", tools=[look], max_iter=2)
task = Task(description="Look everywhere DESC-1", expected_output="A place", agent=scout)
result = Crew(agents=[scout], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["look", {"where": "north"}]}, {"tool": ["look", {"where": "east"}]}, "ENOUGH-1"]}
