"""Crew(memory=True), kicked off twice: the second run is given what the first found out."""

from crewai import Agent, Crew, Task

analyst = Agent(role="Analyst", goal="Follow {topic}", backstory="Careful.")
task = Task(description="Analyse the tide of {topic} DESC-1", expected_output="A sentence", agent=analyst)
crew = Crew(
    agents=[analyst],
    tasks=[task],
    memory=True,
    embedder={"provider": "openai", "config": {"model": "text-embedding-3-small"}},
    verbose=True,
)
result = crew.kickoff(inputs={"topic": "Brest"})
second = crew.kickoff(inputs={"topic": "Brest and Cadiz"})
print(result.raw)
print(second.raw)

script = {"Cadiz": ["OUT-2 the tide of Cadiz is three"], "DESC-1": ["OUT-1 the tide of Brest is six"]}
remembered = {
    "Cadiz": {"suggestions": ["HINT-2"], "quality": 8, "memories": ["FACT-2 the tide of Cadiz is three"]},
    "DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide of Brest is six"]},
}
