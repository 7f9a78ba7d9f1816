"""Crew(memory=Memory(...)) with a memory that was made before, and looked into afterwards."""

from crewai import Agent, Crew, Memory, Task

memory = Memory(recency_weight=0.2, semantic_weight=0.7, importance_weight=0.1, recency_half_life_days=14)
memory.remember("FACT-1 the tide of Brest is six", scope="/crew/crew", categories=["sea"], importance=0.9)
clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Tell about the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
crew = Crew(agents=[clerk], tasks=[task], memory=memory)
result = crew.kickoff()
print(result.raw, crew.memory is memory)
memory.drain_writes()
print(sorted(record.content for record in memory.list_records()))

script = {"DESC-1": ["OUT-1 the tide of Brest is six"]}
remembered = {"DESC-1": {"memories": ["FACT-2 apples are red"]}}
