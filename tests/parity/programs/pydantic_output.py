"""output_pydantic from an answer that is JSON; the next task sees it."""

from crewai import Agent, Crew, Task
from pydantic import BaseModel


class Tide(BaseModel):
    harbour: str
    height: float


agent = Agent(role="Pilot", goal="Tell tides", backstory="Tells.")
one = Task(description="The tide in Brest DESC-1", expected_output="A tide", agent=agent, output_pydantic=Tide)
two = Task(description="Explain it DESC-2", expected_output="A text", agent=agent)
crew = Crew(agents=[agent], tasks=[one, two])
result = crew.kickoff()
print(one.output.pydantic.harbour, one.output.pydantic.height)
print(result.pydantic)
print(one.output.to_dict())

script = {
    "DESC-2": ["EXPLAINED-1"],
    "DESC-1": ['{"harbour": "HARBOUR-1", "height": 6.5}'],
    "HARBOUR-1": ['{"harbour": "HARBOUR-1", "height": 6.5}'],
}
