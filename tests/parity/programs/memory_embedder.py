"""Crew(memory=True, embedder=...) with the name of a provider and of its model."""

from crewai import Agent, Crew, Task

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Tell about the tide of {harbour} DESC-1", expected_output="A sentence", agent=clerk)
crew = Crew(
    agents=[clerk],
    tasks=[task],
    memory=True,
    embedder={"provider": "openai", "config": {"api_key": "key", "model_name": "text-embedding-3-small"}},
)
result = crew.kickoff(inputs={"harbour": "Brest"})
second = crew.kickoff(inputs={"harbour": "Brest and Cadiz"})
print(result.raw)
print(second.raw)

script = {"Cadiz": ["OUT-2 the tide of Cadiz is three"], "DESC-1": ["OUT-1 the tide of Brest is six"]}
remembered = {
    "Cadiz": {"suggestions": ["HINT-2"], "quality": 8, "memories": ["FACT-2 the tide of Cadiz is three"]},
    "DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide of Brest is six"]},
}
