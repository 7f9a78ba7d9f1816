"""Crew(memory=True): the same task again, with the hints that its first run was given."""

from crewai import Agent, Crew, Task

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Tell about the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
crew = Crew(agents=[clerk], tasks=[task], memory=True)
result = crew.kickoff()
second = crew.kickoff()
print(result.raw, second.raw)

script = {"DESC-1": ["OUT-1 the tide of Brest is six", "OUT-2 the tide of Brest is six"]}
remembered = {
    "DESC-1": {
        "suggestions": ["HINT-1 name the harbour"],
        "quality": 8,
        "entities": [{"name": "Tide", "type": "thing", "description": "KEEPER-1 tide of Brest", "relationships": []}],
        "memories": ["FACT-1 the tide of Brest is six"],
    }
}
