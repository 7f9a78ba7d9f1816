"""Knowledge, and an agent with a tool."""

from crewai import Agent, Crew, Task
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource
from crewai.tools import tool


@tool("Phone book")
def phone_book(name: str) -> str:
    """Looks a number up."""
    return f"FOUND-1 {name} has 4711"


clerk = Agent(role="Clerk", goal="Know", backstory="Careful.", tools=[phone_book])
task = Task(description="The number of who keeps the tower DESC-1", expected_output="A number", agent=clerk)
crew = Crew(
    agents=[clerk],
    tasks=[task],
    knowledge_sources=[StringKnowledgeSource(content="FACT-1 Ann keeps the tower")],
)
result = crew.kickoff()
print(result.raw)

script = {"DESC-1": ["who keeps the tower", {"tool": ["phone_book", {"name": "Ann"}]}, "OUT-1 4711"]}
