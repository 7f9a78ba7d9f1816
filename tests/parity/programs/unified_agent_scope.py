"""Agents with views of one Memory: one may write below its scope, the other only reads."""

from crewai import Agent, Crew, Memory, Task

memory = Memory()
memory.remember("FACT-1 the tide of Brest is six", scope="/clerk", categories=["sea"], importance=0.5)
memory.remember("FACT-2 the tide of Cadiz is three", scope="/other", categories=["sea"], importance=0.5)
clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.", memory=memory.scope("/clerk"))
writer = Agent(
    role="Writer", goal="Write", backstory="Quick.", memory=memory.slice(scopes=["/clerk", "/other"], read_only=True)
)
find = Task(description="Find the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
write = Task(description="Write on the tides DESC-2", expected_output="A text", agent=writer)
result = Crew(agents=[clerk, writer], tasks=[find, write]).kickoff()
print(result.raw)
memory.drain_writes()
print(sorted((record.scope, record.content) for record in memory.list_records()))

script = {"DESC-1": ["OUT-1 the tide is six"], "DESC-2": ["OUT-2 a text"]}
remembered = {"DESC-2": {"memories": ["FACT-4 a text was written"]}, "DESC-1": {"memories": ["FACT-3 apples are red"]}}
