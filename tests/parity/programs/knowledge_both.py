"""Knowledge of a crew and of its agent, in one task."""

from crewai import Agent, Crew, Task
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

clerk = Agent(
    role="Clerk",
    goal="Know people",
    backstory="Careful.",
    knowledge_sources=[StringKnowledgeSource(content="FACT-1 Ann keeps the tower of Brest")],
)
task = Task(description="Who keeps the tower? DESC-1", expected_output="A name", agent=clerk)
crew = Crew(
    agents=[clerk],
    tasks=[task],
    knowledge_sources=[StringKnowledgeSource(content="FACT-2 the tower of Brest is old")],
)
result = crew.kickoff()
print(result.raw)

script = {"DESC-1": ["who keeps the tower of Brest QUERY-1", "OUT-1 Ann"]}
