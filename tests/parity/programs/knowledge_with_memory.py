"""A crew with knowledge and with memory."""

from crewai import Agent, Crew, Task
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

clerk = Agent(role="Clerk", goal="Know", backstory="Careful.")
task = Task(description="Who keeps the tower? DESC-1", expected_output="A name", agent=clerk)
crew = Crew(
    agents=[clerk],
    tasks=[task],
    memory=True,
    knowledge_sources=[StringKnowledgeSource(content="FACT-1 Ann keeps the tower")],
)
result = crew.kickoff()
second = crew.kickoff()
print(result.raw, second.raw)

script = {"DESC-1": ["who keeps the tower", "OUT-1 Ann keeps the tower", "who keeps the tower", "OUT-2 Ann"]}
remembered = {"DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-2 Ann keeps the tower"]}}
