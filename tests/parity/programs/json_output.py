"""output_json: json_dict, json, and access by key."""

from crewai import Agent, Crew, Task
from pydantic import BaseModel


class Tide(BaseModel):
    harbour: str
    height: float


agent = Agent(role="Pilot", goal="Tell tides", backstory="Tells.")
task = Task(description="The tide in Brest DESC-1", expected_output="A tide", agent=agent, output_json=Tide)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.json_dict)
print(result["harbour"])
print(result.json)
print(task.output.json_dict, task.output.pydantic)

script = {
    "DESC-1": ['{"harbour": "HARBOUR-1", "height": 6.5}'],
    "HARBOUR-1": ['{"harbour": "HARBOUR-1", "height": 6.5}'],
}
