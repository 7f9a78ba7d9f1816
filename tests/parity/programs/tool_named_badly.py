"""A tool with a name that no provider takes as it is, called as it is offered."""

from crewai import Agent, Crew, Task
from crewai.tools import BaseTool


class Odd(BaseTool):
    name: str = "Höhe & Tiefe (m)"
    description: str = "Measures."

    def _run(self, place: str) -> str:
        return "DEPTH-1"


agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[Odd()])
task = Task(description="How deep? DESC-1", expected_output="Metres", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": ["METRES-1"]}
