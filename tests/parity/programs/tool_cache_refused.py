"""A cache_function that says no: the same call is made again."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("clock")
def clock(zone: str) -> str:
    """The time in a zone."""
    print("told", zone)
    return "TIME-1"


clock.cache_function = lambda args, result: False

agent = Agent(role="Watch", goal="Tell", backstory="Ticks.", tools=[clock])
one = Task(description="The time DESC-1", expected_output="A time", agent=agent)
two = Task(description="The time again DESC-2", expected_output="A time", agent=agent)
result = Crew(agents=[agent], tasks=[one, two], cache=True).kickoff()
print(result.raw)

script = {
    "DESC-1": [{"tool": ["clock", {"zone": "CET"}]}, "EARLY-1"],
    "DESC-2": [{"tool": ["clock", {"zone": "CET"}]}, "LATE-1"],
}
