"""The model writes its tool call as text, although tools are offered natively."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("measured", place)
    return "DEPTH-1"


pilot = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
task = Task(description="How deep is it? DESC-1", expected_output="Metres", agent=pilot)
result = Crew(agents=[pilot], tasks=[task]).kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"text": 'Thought: measure.\nAction: depth\nAction Input: {"place": "quay"}'},
        {"text": "Thought: I know it.\nFinal Answer: METRES-1"},
    ]
}
