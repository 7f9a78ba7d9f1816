"""Crew(memory=True): an agent that uses a tool, and another one after it."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("Tide table")
def tide_table(harbour: str) -> str:
    """Looks a harbour up."""
    return f"FOUND-1 the tide of {harbour} is six metres"


clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.", tools=[tide_table])
writer = Agent(role="Writer", goal="Write about tides", backstory="Quick.")
find = Task(description="Find the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
write = Task(description="Write on the tide of Brest DESC-2", expected_output="A text", agent=writer)
crew = Crew(agents=[clerk, writer], tasks=[find, write], memory=True)
result = crew.kickoff()
print(result.raw)

script = {
    "DESC-1": [{"tool": ["tide_table", {"harbour": "Brest"}]}, "OUT-1 the tide of Brest is six"],
    "DESC-2": ["OUT-2 a text on the tide of Brest"],
}
remembered = {
    "DESC-2": {"suggestions": ["HINT-2"], "quality": 7, "memories": ["FACT-2 Brest is written on"]},
    "DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide of Brest is six"]},
}
