"""Step callbacks of a crew and of an agent: what they are given for a tool and for an answer."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    return "DEPTH-1"


def of_crew(step):
    print("crew", type(step).__name__, getattr(step, "tool", None), getattr(step, "output", None))


def of_agent(step):
    print("agent", type(step).__name__)


pilot = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
second = Agent(role="Clerk", goal="Note", backstory="Notes.", step_callback=of_agent)
one = Task(description="How deep? DESC-1", expected_output="Metres", agent=pilot)
two = Task(description="Note it DESC-2", expected_output="A note", agent=second)
result = Crew(agents=[pilot, second], tasks=[one, two], step_callback=of_crew).kickoff()

script = {"DESC-1": [{"tool": ["depth", {"place": "quay"}]}, "METRES-1"], "DESC-2": ["NOTE-1"]}
