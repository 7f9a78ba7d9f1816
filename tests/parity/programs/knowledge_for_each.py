"""Knowledge in kickoff_for_each."""

from crewai import Agent, Crew, Task
from crewai.knowledge.knowledge_config import KnowledgeConfig
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

nearest = KnowledgeConfig(results_limit=1, score_threshold=0.3)
clerk = Agent(role="Clerk", goal="Know", backstory="Careful.", knowledge_config=nearest)
task = Task(description="Who keeps the tower of {town}? DESC-1", expected_output="A name", agent=clerk)
crew = Crew(
    agents=[clerk],
    tasks=[task],
    knowledge_sources=[
        StringKnowledgeSource(content="FACT-1 Ann keeps the tower of Brest"),
        StringKnowledgeSource(content="FACT-2 Bob keeps the tower of Cadiz"),
    ],
)
results = crew.kickoff_for_each(inputs=[{"town": "Brest"}, {"town": "Cadiz"}])
print([one.raw for one in results])

script = {
    "Cadiz?": ["who keeps the tower of Cadiz", "OUT-2 Bob"],
    "DESC-1": ["who keeps the tower of Brest", "OUT-1 Ann"],
}
