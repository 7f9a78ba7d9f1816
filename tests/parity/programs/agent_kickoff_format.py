"""An agent by itself, with a tool and a response_format."""

from crewai import Agent
from crewai.tools import tool
from pydantic import BaseModel


class Depth(BaseModel):
    metres: float


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    return "DEPTH-1 6.5"


agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
result = agent.kickoff("How deep is it? DESC-1", response_format=Depth)
print(result.pydantic)

script = {
    "PROSE-1": [{"json": {"metres": 6.5}}],
    "DESC-1": [{"tool": ["depth", {"place": "quay"}]}, {"json": {"metres": 6.5}, "else": "It is PROSE-1 6.5"}],
    "*": [{"json": {"metres": 6.5}, "else": '{"metres": 6.5}'}],
}
