"""The crew's output with a structure: result["key"], result.pydantic, to_dict, json."""

from crewai import Agent, Crew, Task
from pydantic import BaseModel


class Tide(BaseModel):
    harbour: str
    height: float


agent = Agent(role="Pilot", goal="Tell tides", backstory="Tells.")
task = Task(description="The tide in Brest DESC-1", expected_output="A tide", agent=agent, output_pydantic=Tide)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result["harbour"], result.pydantic.height)
print(result.to_dict())
print(str(result))
try:
    print(result.json)
except Exception as error:
    print(type(error).__name__)
try:
    print(result["depth"])
except Exception as error:
    print(type(error).__name__)

script = {
    "DESC-1": ['{"harbour": "HARBOUR-1", "height": 6.5}'],
    "HARBOUR-1": ['{"harbour": "HARBOUR-1", "height": 6.5}'],
}
