"""The same tool call in two tasks."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("weather")
def weather(place: str) -> str:
    """The weather of a place."""
    print("looked", place)
    return "RAIN-1"


agent = Agent(role="Forecaster", goal="Forecast", backstory="Forecasts.", tools=[weather])
one = Task(description="Weather for walkers DESC-1", expected_output="A line", agent=agent)
two = Task(description="Weather for sailors DESC-2", expected_output="A line", agent=agent)
result = Crew(agents=[agent], tasks=[one, two], cache=True).kickoff()
print(result.raw)

script = {
    "DESC-1": [{"tool": ["weather", {"place": "Brest"}]}, "WALK-1"],
    "DESC-2": [{"tool": ["weather", {"place": "Brest"}]}, "SAIL-1"],
}
