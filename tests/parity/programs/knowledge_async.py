"""Knowledge in kickoff_async."""

import asyncio

from crewai import Agent, Crew, Task
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

clerk = Agent(role="Clerk", goal="Know", backstory="Careful.")
task = Task(description="Who keeps the tower? DESC-1", expected_output="A name", agent=clerk)
crew = Crew(
    agents=[clerk],
    tasks=[task],
    knowledge_sources=[StringKnowledgeSource(content="FACT-1 Ann keeps the tower")],
)
result = asyncio.run(crew.kickoff_async())
print(result.raw)

script = {"DESC-1": ["who keeps the tower QUERY-1", "OUT-1 Ann"]}
