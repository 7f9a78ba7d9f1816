"""One agent with a tool does three tasks in one crew; only one of them uses it."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool
def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


clerk = Agent(role="Clerk", goal="Be exact", backstory="Counts.", tools=[count_words], allow_delegation=False)
tasks = [
    Task(description="Write a line DESC-1", expected_output="A line", agent=clerk),
    Task(description="Count its words DESC-2", expected_output="A number", agent=clerk),
    Task(description="Say it is done DESC-3", expected_output="A word", agent=clerk),
]
result = Crew(agents=[clerk], tasks=tasks).kickoff()
print(result.raw)
print(clerk.tools_results if hasattr(clerk, "tools_results") else "none")

script = {
    "DESC-1": ["a LINE-1 of five words"],
    "DESC-2": [{"tool": ["count_words", {"text": "a LINE-1 of five words"}]}, "5 COUNT-1"],
    "DESC-3": ["DONE-1"],
}
