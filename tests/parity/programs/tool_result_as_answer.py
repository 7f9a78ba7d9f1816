"""The result of a tool is the answer of the task, unchanged."""

from crewai import Agent, Crew, Task
from crewai.tools import BaseTool


class Report(BaseTool):
    name: str = "report"
    description: str = "Makes the report."
    result_as_answer: bool = True

    def _run(self, topic: str) -> str:
        return f"REPORT-1 on {topic}, word for word"


clerk = Agent(role="Clerk", goal="Report", backstory="Reports.", tools=[Report()])
task = Task(description="Make the report DESC-1", expected_output="The report", agent=clerk)
result = Crew(agents=[clerk], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["report", {"topic": "tides"}]}, "my own SUMMARY-1"]}
