"""output_json and output_pydantic written to files."""

from crewai import Agent, Crew, Task
from pydantic import BaseModel


class Tide(BaseModel):
    harbour: str
    height: float


agent = Agent(role="Pilot", goal="Tell tides", backstory="Tells.")
one = Task(
    description="The tide in Brest DESC-1",
    expected_output="A tide",
    agent=agent,
    output_json=Tide,
    output_file="tide.json",
)
two = Task(
    description="The tide in Roscoff DESC-2",
    expected_output="A tide",
    agent=agent,
    context=[],
    output_pydantic=Tide,
    output_file="second.json",
)
result = Crew(agents=[agent], tasks=[one, two]).kickoff()
print(result.raw)

script = {
    "DESC-1": ['{"harbour": "HARBOUR-1", "height": 6.5}'],
    "DESC-2": ['{"harbour": "HARBOUR-2", "height": 8.0}'],
    "HARBOUR-1": ['{"harbour": "HARBOUR-1", "height": 6.5}'],
    "HARBOUR-2": ['{"harbour": "HARBOUR-2", "height": 8.0}'],
}
