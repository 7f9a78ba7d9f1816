"""A tool that gives a list and a dict, not a text."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("members")
def members(team: str) -> list:
    """The members of a team."""
    return [{"name": "MEMBER-1"}, {"name": "MEMBER-2"}]


agent = Agent(role="Clerk", goal="List", backstory="Lists.", tools=[members])
task = Task(description="Who is in it? DESC-1", expected_output="Names", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["members", {"team": "red"}]}, "NAMES-1"]}
