"""Crew(knowledge_sources=[...]) with a text."""

from crewai import Agent, Crew, Task
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

source = StringKnowledgeSource(content="FACT-1 Ann keeps the tower of Brest, and is 42 years old.")
clerk = Agent(role="Clerk", goal="Know people", backstory="Careful.", allow_delegation=False)
task = Task(description="How old is {name}, who keeps the tower? DESC-1", expected_output="A number", agent=clerk)
crew = Crew(agents=[clerk], tasks=[task], verbose=True, knowledge_sources=[source])
result = crew.kickoff(inputs={"name": "Ann"})
print(result.raw)

script = {"DESC-1": ["Ann keeps the tower of Brest age QUERY-1", "OUT-1 she is 42"]}
