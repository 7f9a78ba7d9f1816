"""A source of one's own: it loads, cuts and keeps what it has."""

from typing import Any, Dict

from crewai import Agent, Crew, Task
from crewai.knowledge.knowledge_config import KnowledgeConfig
from crewai.knowledge.source.base_knowledge_source import BaseKnowledgeSource
from pydantic import Field


class Harbours(BaseKnowledgeSource):
    limit: int = Field(default=3)

    def load_content(self) -> Dict[Any, str]:
        return {"a": "FACT-1 Ann keeps the tower of Brest", "b": "FACT-2 Bob keeps the tower of Cadiz"}

    def validate_content(self, content: Any = None) -> str:
        return str(content)

    def add(self) -> None:
        for text in self.load_content().values():
            self.chunks.extend(self._chunk_text(text))
        self._save_documents()

    async def aadd(self) -> None:
        self.add()


source = Harbours(limit=2)
nearest = KnowledgeConfig(results_limit=1, score_threshold=0.3)
clerk = Agent(role="Clerk", goal="Know", backstory="Careful.", knowledge_config=nearest)
task = Task(description="Who keeps the tower of Brest? DESC-1", expected_output="A name", agent=clerk)
result = Crew(agents=[clerk], tasks=[task], knowledge_sources=[source]).kickoff()
print(result.raw, sorted(set(source.chunks)))

script = {"DESC-1": ["Ann keeps the tower of Brest", "OUT-1 Ann"]}
