"""Markdown files as a source."""

from pathlib import Path
from typing import Literal

from crewgraph.knowledge.files import decoded, shown
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.sections import sections
from crewgraph.knowledge.source.base_file_knowledge_source import BaseFileKnowledgeSource

__all__ = ["MarkdownKnowledgeSource"]


class MarkdownKnowledgeSource(BaseFileKnowledgeSource):
    """Markdown files, cut at their headings; what is found says under which heading it stands."""

    source_type: Literal["markdown"] = "markdown"

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The sections of a file."""
        return sections(decoded(data, shown(file, self.root), self.encoding))
