"""Crew(memory=True): one task, nothing remembered before."""

from crewai import Agent, Crew, Task

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Tell about the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
crew = Crew(agents=[clerk], tasks=[task], memory=True)
result = crew.kickoff()
print(result.raw, crew.memory)

script = {"DESC-1": ["OUT-1 the tide of Brest is six metres, says Ann"]}
remembered = {
    "DESC-1": {
        "suggestions": ["HINT-1 name the harbour"],
        "quality": 8,
        "entities": [{"name": "Ann", "type": "person", "description": "KEEPER-1", "relationships": ["lives in Brest"]}],
        "memories": ["FACT-1 the tide of Brest is six metres"],
    },
    "FACT-1": {"suggested_scope": "/tides", "categories": ["sea"], "importance": 0.8},
}
