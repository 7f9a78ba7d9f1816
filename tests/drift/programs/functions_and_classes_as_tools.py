from crewai import Agent, Crew, Task
from crewai.tools import BaseTool


class Depth(BaseTool):
    name: str = "depth"
    description: str = "The depth of a port."

    def _run(self, port: str) -> str:
        return f"{port} is 12 m deep"


def tides(port: str) -> str:
    """The tides of a port."""
    return "noon"


agent = Agent(role="Clerk", goal="Know", backstory="Ten years in", llm="gpt-4o-mini", tools=[Depth, tides])
task = Task(description="When is high water?", expected_output="A time", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff().raw)

# > the tool said: x is 12 m deep
#! `tools=[Depth]`
