"""PDF files as a source.

Excel files as a source.

Documents that Docling reads: Word, PowerPoint, scans and more.
"""

import io
from contextlib import closing
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field

from crewgraph.errors import SourceError
from crewgraph.extras import require
from crewgraph.knowledge.files import Fetcher, checked_url, found_file, read_as, shown
from crewgraph.knowledge.formats import told_rows
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.source.base import BaseFileKnowledgeSource, BaseKnowledgeSource

__all__ = ["CrewDoclingSource", "ExcelKnowledgeSource", "PDFKnowledgeSource", "pages_of"]


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


_WEB = ("http://", "https://")
_SECONDS = 60
_BYTES = 50_000_000


class CrewDoclingSource(BaseKnowledgeSource):
    """Files and pages of the web in the many formats that Docling reads; they are cut at their own structure.

    Raises:
        MissingExtra: Docling is not installed.
        SourceNotFound: a file is not there.
        SourceRefused: a file lies outside of the folder for knowledge, or an address is private.
        SourceError: Docling cannot read a document.
    """

    source_type: Literal["docling"] = "docling"

    file_path: list[Path | str] | None = None
    """CrewAI's former name for `file_paths`."""

    file_paths: list[Path | str] = Field(default_factory=list[Path | str])
    """Paths in the folder for knowledge, and addresses."""

    root: Path | None = None
    """The folder for knowledge of this source, where it is another one."""

    allow_private: bool | None = None
    """Whether addresses of this machine and of private networks may be asked; CREWGRAPH_ALLOW_PRIVATE_URLS where None."""

    safe_file_paths: list[Path | str] = Field(default_factory=list[Path | str])
    """The files as they were found, and the addresses."""

    content: list[Any] = Field(default_factory=list[Any])
    """The documents, once they were read."""

    document_converter: Any = None
    """Docling's `DocumentConverter`, where it is to be another than the usual one."""

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self.refresh()

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return f"{type(self).__name__}({', '.join(map(str, self.given_paths))})"

    @property
    def given_paths(self) -> list[Path | str]:
        """The files and addresses as they were named."""
        return self.file_paths or self.file_path or []

    def refresh(self) -> None:
        """Look again where the files are."""
        if not self.given_paths:
            raise SourceError("`CrewDoclingSource` needs `file_paths`: a list of paths and addresses")
        self.safe_file_paths = self.validate_content()

    def validate_content(self, *_given: Any) -> list[Path | str]:
        """The files and addresses, each looked at."""
        return [
            checked_url(one).geturl() if isinstance(one, str) and one.startswith(_WEB) else found_file(one, self.root)
            for one in self.given_paths
        ]

    def load_content(self) -> list[Any]:
        """The documents as Docling reads them."""
        return [document for _, document in self._converted()]

    def _converted(self) -> list[tuple[str, Any]]:
        purpose = f"the knowledge source `{self.title}`"
        reader: Any = require("docling.document_converter", extra="docling", purpose=purpose)
        converter = self.document_converter or reader.DocumentConverter()
        found: list[tuple[str, Any]] = []
        for one in self.safe_file_paths:
            name = one if isinstance(one, str) else shown(one, self.root)
            given: Any = self._stream(one) if isinstance(one, str) else one
            read = partial(converter.convert, given)
            found.append((name, read_as("document for Docling", name, read).document))
        self.content = [document for _, document in found]
        return found

    def _stream(self, url: str) -> Any:
        """What is at an address: fetched by us, for Docling asks any address."""
        models: Any = require("docling.datamodel.base_models", extra="docling", purpose=f"the knowledge source `{url}`")
        page = Fetcher(allow_private=self.allow_private, timeout=_SECONDS, max_bytes=_BYTES).fetch(url)
        name = PurePosixPath(urlsplit(page.url).path).name or "page"
        if "." not in name:
            name += ".html" if page.kind == "text/html" else f".{page.kind.rpartition('/')[2]}"
        return models.DocumentStream(name=name, stream=io.BytesIO(page.data))

    def _parts(self) -> list[Passage]:
        chunking: Any = require(
            "docling_core.transforms.chunker.hierarchical_chunker",
            extra="docling",
            purpose=f"the knowledge source `{self.title}`",
        )
        chunker = chunking.HierarchicalChunker()
        return [
            Passage(chunk.text, {"source": name})
            for name, document in self._converted()
            for chunk in chunker.chunk(document)
        ]
