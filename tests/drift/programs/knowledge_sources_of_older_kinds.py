from typing import Any

from crewai import Agent, Crew, Task
from crewai.knowledge.source.base_knowledge_source import BaseKnowledgeSource
from pydantic import Field


class OnlyLoads(BaseKnowledgeSource):
    def load_content(self):
        return {"tides": "High water is at noon."}

    def add(self) -> None:
        for text in self.load_content().values():
            self.chunks.extend(self._chunk_text(text))
        self._save_documents()


class OnlyAdds(BaseKnowledgeSource):
    metadata: dict[str, Any] = Field(default_factory=dict)

    def add(self) -> None:
        self.chunks = ["Low water is at six."]
        self.save_documents(metadata=self.metadata)


class JustLoads(BaseKnowledgeSource):
    def load_content(self):
        return "Slack water is at nine."


agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
task = Task(description="When is high water?", expected_output="A time", agent=agent)
crew = Crew(agents=[agent], tasks=[task], knowledge_sources=[OnlyLoads(), OnlyAdds(), JustLoads()])
print(crew.kickoff().raw)
found = sorted(one.get("content") or one["context"] for one in crew.query_knowledge(["water"]))
print(found)

# > high water at noon
# > ['High water is at noon.', 'Low water is at six.', 'Slack water is at nine.']
#! `save_documents` of a knowledge source
