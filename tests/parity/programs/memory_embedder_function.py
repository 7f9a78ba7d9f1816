"""A function of one's own as the embedder."""

from crewai import Agent, Crew, Task


def embed(texts):
    return [[float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Tell about the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
crew = Crew(
    agents=[clerk], tasks=[task], memory=True, embedder={"provider": "custom", "config": {"embedding_callable": embed}}
)
result = crew.kickoff()
second = crew.kickoff()
print(result.raw, second.raw)

script = {"DESC-1": ["OUT-1 the tide of Brest is six"]}
remembered = {"DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide of Brest is six"]}}
