"""The embedder of a crew with memory does not answer."""

from crewai import Agent, Crew, Task

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Tell about the tide DESC-1", expected_output="A sentence", agent=clerk)
embedder = {
    "provider": "openai",
    "config": {"api_key": "key", "model_name": "text-embedding-3-small", "api_base": "http://127.0.0.1:9/v1"},
}
result = Crew(agents=[clerk], tasks=[task], memory=True, embedder=embedder).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
remembered = {"DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide is six"]}}
