"""A tool that takes nothing."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("now")
def now() -> str:
    """The time."""
    return "NOW-1"


agent = Agent(role="Watch", goal="Tell", backstory="Ticks.", tools=[now])
task = Task(description="What time is it? DESC-1", expected_output="A time", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["now", {}]}, "TIME-1"]}
