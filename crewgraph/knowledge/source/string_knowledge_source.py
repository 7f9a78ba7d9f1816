"""A text as a source."""

from typing import Literal

from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.source.base_knowledge_source import BaseKnowledgeSource

__all__ = ["StringKnowledgeSource"]


class StringKnowledgeSource(BaseKnowledgeSource):
    """A text that agents know."""

    source_type: Literal["string"] = "string"

    content: str
    """The text."""

    def load_content(self) -> str:
        """The text."""
        return self.content

    def _parts(self) -> list[Passage]:
        return [Passage(self.load_content())]
