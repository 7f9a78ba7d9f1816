"""PDF files as a source."""

import io
from pathlib import Path
from typing import Any, Literal

from crewgraph.errors import SourceError
from crewgraph.extras import require
from crewgraph.knowledge.files import shown
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.reading import read_as
from crewgraph.knowledge.source.base_file_knowledge_source import BaseFileKnowledgeSource

__all__ = ["PDFKnowledgeSource", "pages_of"]


class PDFKnowledgeSource(BaseFileKnowledgeSource):
    """PDF files: what is found says on which page it stands. Scans hold no text; `CrewDoclingSource` reads them.

    Raises:
        MissingExtra: the package for PDF files is not installed.
    """

    source_type: Literal["pdf"] = "pdf"

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The pages of a file."""
        return pages_of(data, shown(file, self.root))


def pages_of(data: bytes, name: str) -> list[Passage]:
    """The pages of a PDF file, with their numbers from 1 as `page`; those without text are left out.

    Args:
        data: its bytes.
        name: where it is from, for messages.

    Raises:
        MissingExtra: the package for PDF files is not installed.
        SourceError: it cannot be read, or holds no text.
    """
    pypdf: Any = require("pypdf", extra="pdf", purpose=f"the knowledge source `{name}`")

    def read() -> list[Passage]:
        pages = pypdf.PdfReader(io.BytesIO(data)).pages
        return [Passage(page.extract_text(), {"page": number}) for number, page in enumerate(pages, 1)]

    pages = read_as("PDF file", name, read)
    if not any(page.text.strip() for page in pages):
        raise SourceError(
            f"the knowledge source `{name}` holds no text, only pictures; `CrewDoclingSource` reads those"
        )
    return [page for page in pages if page.text.strip()]
