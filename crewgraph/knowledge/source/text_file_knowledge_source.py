"""Text files as a source."""

from typing import Literal

from crewgraph.knowledge.source.base_file_knowledge_source import BaseFileKnowledgeSource

__all__ = ["TextFileKnowledgeSource"]


class TextFileKnowledgeSource(BaseFileKnowledgeSource):
    """Text files that agents know: `TextFileKnowledgeSource(file_paths=["manual.txt"])`."""

    source_type: Literal["text_file"] = "text_file"
