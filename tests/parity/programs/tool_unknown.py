"""The model calls a tool that is not there, then the one that is."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("translate")
def translate(text: str) -> str:
    """Translates a text."""
    return "TRANSLATED-1"


linguist = Agent(role="Linguist", goal="Translate", backstory="Translates.", tools=[translate])
task = Task(description="Translate it DESC-1", expected_output="A text", agent=linguist)
result = Crew(agents=[linguist], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["dictionary", {"word": "tide"}]}, {"tool": ["translate", {"text": "tide"}]}, "TEXT-1"]}
