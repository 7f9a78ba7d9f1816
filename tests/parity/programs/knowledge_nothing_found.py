"""Knowledge that has nothing to do with the task."""

from crewai import Agent, Crew, Task
from crewai.knowledge.knowledge_config import KnowledgeConfig
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

clerk = Agent(
    role="Clerk",
    goal="Know",
    backstory="Careful.",
    knowledge_config=KnowledgeConfig(results_limit=3, score_threshold=0.9),
    knowledge_sources=[StringKnowledgeSource(content="FACT-1 zebras eat grass")],
)
task = Task(description="Who keeps the tower? DESC-1", expected_output="A name", agent=clerk)
result = Crew(agents=[clerk], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": ["tower keeper name", "OUT-1 nobody knows"]}
