"""The model makes the same tool call again and again in one task."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("dice")
def dice(sides: int) -> str:
    """Throws a die."""
    print("thrown")
    return "THROW-1"


player = Agent(role="Player", goal="Play", backstory="Plays.", tools=[dice])
task = Task(description="Throw twice DESC-1", expected_output="Two numbers", agent=player)
result = Crew(agents=[player], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["dice", {"sides": 6}]}, {"tool": ["dice", {"sides": 6}]}, "NUMBERS-1"]}
