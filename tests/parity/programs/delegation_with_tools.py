"""An agent with a tool of its own, one of the task, and coworkers."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    return "DEPTH-1"


@tool("height")
def height(place: str) -> str:
    """How high the quay is."""
    return "HEIGHT-1"


writer = Agent(role="Writer", goal="Write", backstory="Writes.", allow_delegation=True, tools=[depth])
expert = Agent(role="Expert", goal="Know", backstory="Knows.")
one = Task(description="One DESC-1", expected_output="Text", agent=writer)
two = Task(description="Two DESC-2", expected_output="Text", agent=writer, tools=[height])
result = Crew(agents=[writer, expert], tasks=[one, two]).kickoff()
print(result.raw)

script = {
    "DESC-2": [{"tool": ["height", {"place": "quay"}]}, "OUT-2"],
    "DESC-1": [{"tool": ["depth", {"place": "quay"}]}, "OUT-1"],
}
