"""The knowledge of a crew is emptied."""

from crewai import Agent, Crew, Task
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

clerk = Agent(role="Clerk", goal="Know", backstory="Careful.")
task = Task(description="Who keeps the tower? DESC-1", expected_output="A name", agent=clerk)
crew = Crew(
    agents=[clerk], tasks=[task], knowledge_sources=[StringKnowledgeSource(content="FACT-1 Ann keeps the tower")]
)
print(len(crew.query_knowledge(["Ann keeps the tower"])))
print(crew.reset_memories(command_type="knowledge"))
print(len(crew.query_knowledge(["Ann keeps the tower"])))

script = {"DESC-1": ["who keeps the tower", "OUT-1 Ann"]}
