"""A tool raises; the model is told and answers without it."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("fetch")
def fetch(url: str) -> str:
    """Fetches a page."""
    raise ConnectionError("no route to REASON-1")


scout = Agent(role="Scout", goal="Fetch", backstory="Fetches.", tools=[fetch])
task = Task(description="Fetch the page DESC-1", expected_output="Its title", agent=scout)
result = Crew(agents=[scout], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["fetch", {"url": "http://x"}]}, "It cannot be fetched ANSWER-1"]}
