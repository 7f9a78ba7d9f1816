"""Agent(knowledge_sources=[...]): each knows its own."""

from crewai import Agent, Crew, Task
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

clerk = Agent(
    role="Clerk of {town}",
    goal="Know people",
    backstory="Careful.",
    knowledge_sources=[StringKnowledgeSource(content="FACT-1 Ann keeps the tower of Brest")],
)
writer = Agent(
    role="Writer",
    goal="Write",
    backstory="Quick.",
    knowledge_sources=[StringKnowledgeSource(content="FACT-2 Bob keeps the tower of Cadiz")],
)
find = Task(description="Who keeps the tower? DESC-1", expected_output="A name", agent=clerk)
write = Task(description="Write on who keeps the tower DESC-2", expected_output="A text", agent=writer)
result = Crew(agents=[clerk, writer], tasks=[find, write]).kickoff(inputs={"town": "Brest"})
print(result.raw)

script = {
    "DESC-1": ["who keeps the tower QUERY-1", "OUT-1 Ann"],
    "DESC-2": ["who keeps the tower QUERY-2", "OUT-2 a text"],
}
