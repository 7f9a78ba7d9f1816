"""A crew's memories are emptied between two runs."""

from crewai import Agent, Crew, Task

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Tell about the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
crew = Crew(agents=[clerk], tasks=[task], memory=True)
result = crew.kickoff()
print(crew.reset_memories(command_type="all"))
second = crew.kickoff()
print(result.raw, second.raw)
for kind in ("short", "long", "entity"):
    print(kind, crew.reset_memories(command_type=kind))

script = {"DESC-1": ["OUT-1 the tide of Brest is six", "OUT-2 the tide of Brest is six"]}
remembered = {"DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide of Brest is six"]}}
