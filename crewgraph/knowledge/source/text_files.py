"""CSV files as a source.

JSON files as a source.

Markdown files as a source.
"""

import json
from pathlib import Path
from typing import Literal

from crewgraph.knowledge.files import decoded, read_as, shown
from crewgraph.knowledge.formats import rows_of_csv, told_rows, told_tree
from crewgraph.knowledge.passage import Passage, sections
from crewgraph.knowledge.source.base import BaseFileKnowledgeSource

__all__ = ["CSVKnowledgeSource", "JSONKnowledgeSource", "MarkdownKnowledgeSource"]


class CSVKnowledgeSource(BaseFileKnowledgeSource):
    """Tables: each row becomes a line that names its columns. Columns may be separated by `,`, `;`, `|` or tabs."""

    source_type: Literal["csv"] = "csv"

    delimiter: str | None = None
    """What separates the columns; found out where None."""

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The rows of a file."""
        name = shown(file, self.root)
        text = decoded(data, name, self.encoding)
        return [Passage(read_as("table", name, lambda: told_rows(rows_of_csv(text, self.delimiter))))]


class JSONKnowledgeSource(BaseFileKnowledgeSource):
    """JSON files: each value becomes a line that says where it stands."""

    source_type: Literal["json"] = "json"

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The values in a file."""
        name = shown(file, self.root)
        text = decoded(data, name, self.encoding)
        return [Passage(read_as("JSON", name, lambda: told_tree(json.loads(text))))]


class MarkdownKnowledgeSource(BaseFileKnowledgeSource):
    """Markdown files, cut at their headings; what is found says under which heading it stands."""

    source_type: Literal["markdown"] = "markdown"

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The sections of a file."""
        return sections(decoded(data, shown(file, self.root), self.encoding))
