"""Sources of CSV, JSON and Markdown files."""

import json
from pathlib import Path
from typing import Literal

from crewgraph.knowledge.files import decode_text, display_name, read_or_fail
from crewgraph.knowledge.formats import json_as_text, rows_as_text, rows_of_csv
from crewgraph.knowledge.passage import Passage, markdown_sections
from crewgraph.knowledge.source.base import BaseFileKnowledgeSource

__all__ = ["CSVKnowledgeSource", "JSONKnowledgeSource", "MarkdownKnowledgeSource"]


class CSVKnowledgeSource(BaseFileKnowledgeSource):
    """Tables: each row becomes a line that names its columns. The delimiter may be `,`, `;`, `|` or a tab."""

    source_type: Literal["csv"] = "csv"

    delimiter: str | None = None
    """The delimiter; None to detect it."""

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The rows of a file."""
        name = display_name(file, self.root)
        text = decode_text(data, name, self.encoding)
        return [Passage(read_or_fail("table", name, lambda: rows_as_text(rows_of_csv(text, self.delimiter))))]


class JSONKnowledgeSource(BaseFileKnowledgeSource):
    """JSON files: each value becomes a line with its path."""

    source_type: Literal["json"] = "json"

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The values in a file."""
        name = display_name(file, self.root)
        text = decode_text(data, name, self.encoding)
        return [Passage(read_or_fail("JSON", name, lambda: json_as_text(json.loads(text))))]


class MarkdownKnowledgeSource(BaseFileKnowledgeSource):
    """Markdown files, split at their headings; results name their heading."""

    source_type: Literal["markdown"] = "markdown"

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The sections of a file."""
        return markdown_sections(decode_text(data, display_name(file, self.root), self.encoding))
