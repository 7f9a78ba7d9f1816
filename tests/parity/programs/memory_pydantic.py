"""Crew(memory=True) and a task whose output has a structure."""

from crewai import Agent, Crew, Task
from pydantic import BaseModel


class Tide(BaseModel):
    harbour: str
    height: int


clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(
    description="Tell about the tide of Brest DESC-1", expected_output="The tide", agent=clerk, output_pydantic=Tide
)
result = Crew(agents=[clerk], tasks=[task], memory=True).kickoff()
print(result.pydantic)

script = {
    "DESC-1": [{"json": {"harbour": "Brest OUT-1", "height": 6}}],
    "*": [{"json": {"harbour": "Brest OUT-1", "height": 6}}],
}
remembered = {"DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide of Brest is six"]}}
