"""KnowledgeConfig: how many pieces there may be, and how near they must be."""

from crewai import Agent, Crew, Task
from crewai.knowledge.knowledge_config import KnowledgeConfig
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

sources = [
    StringKnowledgeSource(content="FACT-1 the tide of Brest is six metres"),
    StringKnowledgeSource(content="FACT-2 the tide of Brest"),
    StringKnowledgeSource(content="FACT-3 apples are red"),
]
few = KnowledgeConfig(results_limit=1, score_threshold=0.1)
near = KnowledgeConfig(results_limit=10, score_threshold=0.999)
clerk = Agent(role="Clerk", goal="Know", backstory="Careful.", knowledge_sources=sources, knowledge_config=few)
strict = Agent(role="Strict", goal="Know", backstory="Strict.", knowledge_sources=sources, knowledge_config=near)
one = Task(description="The tide of Brest DESC-1", expected_output="Metres", agent=clerk)
two = Task(description="The tide of Brest DESC-2", expected_output="Metres", agent=strict, context=[])
result = Crew(agents=[clerk, strict], tasks=[one, two]).kickoff()
print(result.raw)

script = {"DESC-1": ["FACT-2 the tide of Brest", "OUT-1 six"], "DESC-2": ["the tide of Brest", "OUT-2 six"]}
