"""human_input of an agent that uses a tool before and after it is sent back."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("sounded", place)
    return "DEPTH-1"


agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
task = Task(description="How deep? DESC-1", expected_output="Metres", agent=agent, human_input=True)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

typed = "Sound the pier FEEDBACK-1\n\n"
script = {
    "FEEDBACK-1": [{"tool": ["depth", {"place": "pier"}]}, "METRES-2"],
    "DESC-1": [{"tool": ["depth", {"place": "quay"}]}, "METRES-1"],
}
