"""CSV files as a source."""

from pathlib import Path
from typing import Literal

from crewgraph.knowledge.files import decoded, shown
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.reading import read_as
from crewgraph.knowledge.source.base_file_knowledge_source import BaseFileKnowledgeSource
from crewgraph.knowledge.tables import rows_of_csv, told_rows

__all__ = ["CSVKnowledgeSource"]


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
