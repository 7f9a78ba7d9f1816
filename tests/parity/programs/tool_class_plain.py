"""A subclass of BaseTool without a schema: the arguments are those of `_run`, texts of numbers become numbers."""

from crewai import Agent, Crew, Task
from crewai.tools import BaseTool


class Adder(BaseTool):
    name: str = "adder"
    description: str = "Adds two numbers."

    def _run(self, first: int, second: int) -> int:
        print("adds", first, second)
        return first + second


clerk = Agent(role="Clerk", goal="Add", backstory="Adds.", tools=[Adder()])
task = Task(description="Add 2 and 3 DESC-1", expected_output="A number", agent=clerk)
result = Crew(agents=[clerk], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["adder", {"first": "2", "second": 3}]}, "5 SUM-1"]}
