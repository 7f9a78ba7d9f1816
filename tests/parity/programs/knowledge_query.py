"""Crew.query_knowledge, with limits."""

from crewai import Agent, Crew, Task
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

clerk = Agent(role="Clerk", goal="Know", backstory="Careful.")
task = Task(description="Tell DESC-1", expected_output="A word", agent=clerk)
sources = [
    StringKnowledgeSource(content="FACT-1 the tide of Brest is six"),
    StringKnowledgeSource(content="FACT-2 apples are red"),
]
crew = Crew(agents=[clerk], tasks=[task], knowledge_sources=sources)
found = crew.query_knowledge(["the tide of Brest"])
print(found[0]["content"])
print(len(crew.query_knowledge(["the tide of Brest"], results_limit=1)))
print(crew.query_knowledge(["the tide of Brest"], results_limit=5, score_threshold=0.999))
print(crew.query_knowledge(["apples", "red"], results_limit=1)[0]["content"])
print(Crew(agents=[clerk], tasks=[task]).query_knowledge(["the tide"]))

script = {"DESC-1": ["OUT-1"]}
