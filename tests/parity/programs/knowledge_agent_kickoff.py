"""An agent with knowledge, asked on its own."""

from crewai import Agent
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

clerk = Agent(
    role="Clerk",
    goal="Know",
    backstory="Careful.",
    knowledge_sources=[StringKnowledgeSource(content="FACT-1 Ann keeps the tower")],
)
result = clerk.kickoff("Who keeps the tower? ASK-1")
print(result.raw)

script = {"ASK-1": ["who keeps the tower", "OUT-1 Ann"]}
