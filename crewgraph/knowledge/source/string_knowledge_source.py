"""A text as a source."""

from typing import Any, Literal

from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.source.base_knowledge_source import BaseKnowledgeSource

__all__ = ["StringKnowledgeSource"]


class StringKnowledgeSource(BaseKnowledgeSource):
    """A text that agents know."""

    source_type: Literal["string"] = "string"

    content: str
    """The text."""

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self.validate_content()

    def validate_content(self, *_given: Any) -> Any:
        """It is a text: nothing else can be made."""

    def load_content(self) -> str:
        """The text."""
        return self.content

    def _parts(self) -> list[Passage]:
        return [Passage(self.load_content())]
