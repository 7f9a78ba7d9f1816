"""Excel files as a source."""

import io
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from crewgraph.extras import require
from crewgraph.knowledge.files import shown
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.reading import read_as
from crewgraph.knowledge.source.base_file_knowledge_source import BaseFileKnowledgeSource
from crewgraph.knowledge.tables import told_rows

__all__ = ["ExcelKnowledgeSource"]


class ExcelKnowledgeSource(BaseFileKnowledgeSource):
    """Excel files (`.xlsx`), all of their sheets: each row becomes a line that names its columns.

    `content` holds the text of each sheet of each file.

    Raises:
        MissingExtra: the package for Excel files is not installed.
    """

    source_type: Literal["excel"] = "excel"

    def load_content(self) -> dict[Path, Any]:
        """The text of each sheet of each file."""
        super().load_content()
        return {file: {part.metadata["sheet"]: part.text for part in parts} for file, parts in self._read.items()}

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The sheets of a file; formulas are what they came to when it was saved."""
        name = shown(file, self.root)
        openpyxl: Any = require("openpyxl", extra="excel", purpose=f"the knowledge source `{name}`")

        def read() -> list[tuple[str, str]]:
            with closing(openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)) as book:
                return [(sheet.title, told_rows(sheet.iter_rows(values_only=True))) for sheet in book.worksheets]

        sheets = read_as("Excel file (`.xlsx`)", name, read)
        return [Passage(f"{title}\n{rows}", {"sheet": title}) for title, rows in sheets if rows]
