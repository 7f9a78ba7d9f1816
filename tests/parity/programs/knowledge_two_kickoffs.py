"""Knowledge, and two runs of the crew with other questions."""

from crewai import Agent, Crew, Task
from crewai.knowledge.knowledge_config import KnowledgeConfig
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

nearest = KnowledgeConfig(results_limit=1, score_threshold=0.3)
clerk = Agent(role="Clerk", goal="Know", backstory="Careful.", knowledge_config=nearest)
task = Task(description="{question} DESC-1", expected_output="An answer", agent=clerk)
crew = Crew(
    agents=[clerk],
    tasks=[task],
    knowledge_sources=[
        StringKnowledgeSource(content="FACT-1 Ann keeps the tower of Brest"),
        StringKnowledgeSource(content="FACT-2 zebras eat grass in Africa"),
    ],
)
result = crew.kickoff(inputs={"question": "Who keeps the tower?"})
second = crew.kickoff(inputs={"question": "What do zebras eat?"})
print(result.raw, second.raw)

script = {
    "do zebras": ["zebras eat grass in Africa", "OUT-2 grass"],
    "DESC-1": ["Ann keeps the tower of Brest", "OUT-1 Ann"],
}
