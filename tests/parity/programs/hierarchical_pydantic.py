"""A hierarchical task with a structured output."""

from crewai import Agent, Crew, Process, Task
from pydantic import BaseModel


class Tide(BaseModel):
    height: float


writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="How high? DESC-1", expected_output="Metres", output_pydantic=Tide)
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print(result.pydantic)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Writer"}]},
        {"json": {"height": 6.5}},
    ],
    "WORK-1": ["6.5 METRES-1"],
}
