"""The tools of a task are used instead of those of its agent."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("hammer")
def hammer(nail: str) -> str:
    """Hits a nail."""
    return "HAMMERED-1"


@tool("saw")
def saw(plank: str) -> str:
    """Cuts a plank."""
    return "SAWN-1"


joiner = Agent(role="Joiner", goal="Build", backstory="Builds.", tools=[hammer])
one = Task(description="Cut it DESC-1", expected_output="A plank", agent=joiner, tools=[saw])
two = Task(description="Hit it DESC-2", expected_output="A box", agent=joiner)
result = Crew(agents=[joiner], tasks=[one, two]).kickoff()
print(result.raw)

script = {
    "DESC-1": [{"tool": ["saw", {"plank": "oak"}]}, "PLANK-1"],
    "DESC-2": [{"tool": ["hammer", {"nail": "big"}]}, "BOX-1"],
}
