"""The model wants two tools in one answer."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("sunrise")
def sunrise(place: str) -> str:
    """When the sun rises."""
    return "RISE-1"


@tool("sunset")
def sunset(place: str) -> str:
    """When the sun sets."""
    return "SET-1"


watch = Agent(role="Watch", goal="Watch", backstory="Watches.", tools=[sunrise, sunset])
task = Task(description="How long is the day? DESC-1", expected_output="Hours", agent=watch)
result = Crew(agents=[watch], tasks=[task]).kickoff()
print(result.raw)

parallel = True
script = {
    "DESC-1": [
        {"tools": [["sunrise", {"place": "Brest"}], ["sunset", {"place": "Brest"}]]},
        "HOURS-1",
    ],
}
