"""A tool whose fields have no types."""

from crewai import Agent, Crew, Task
from crewai.tools import BaseTool


class Depth(BaseTool):
    name = "depth"
    description = "The depth of a port."

    def _run(self, port: str) -> str:
        return f"{port} is deep"


agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in.", tools=[Depth()])
task = Task(description="When is high water? DESC-1", expected_output="A time", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
