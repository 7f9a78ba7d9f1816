"""Arguments that are optional, lists and nested models."""

from typing import List, Optional

from crewai import Agent, Crew, Task
from crewai.tools import BaseTool
from pydantic import BaseModel


class Point(BaseModel):
    x: float
    y: float = 0.0


class PathInput(BaseModel):
    points: List[Point]
    label: Optional[str] = None


class Length(BaseTool):
    name: str = "length"
    description: str = "Measures a path."
    args_schema: type[BaseModel] = PathInput

    def _run(self, points, label=None):
        print(type(points[0]).__name__, len(points), label)
        return "LENGTH-1"


agent = Agent(role="Pilot", goal="Measure", backstory="Measures.", tools=[Length()])
task = Task(description="How long? DESC-1", expected_output="Miles", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["length", {"points": [{"x": 1}, {"x": 2, "y": 3}]}]}, "MILES-1"]}
