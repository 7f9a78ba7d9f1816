"""Sources of PDF files, Excel files, and the formats that Docling reads (Word, PowerPoint, scans and more)."""

import io
from contextlib import closing
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field

from crewgraph.errors import SourceError
from crewgraph.extras import require
from crewgraph.knowledge.files import Fetcher, display_name, parse_url, read_or_fail, resolve_file
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.source.base import BaseFileKnowledgeSource, BaseKnowledgeSource
from crewgraph.knowledge.source.text_files import rows_as_text

__all__ = ["CrewDoclingSource", "ExcelKnowledgeSource", "PDFKnowledgeSource", "pdf_pages"]


class PDFKnowledgeSource(BaseFileKnowledgeSource):
    """PDF files; results name their page. Scans contain no text; `CrewDoclingSource` reads them.

    Raises:
        MissingExtra: the package for PDF files is not installed.
    """

    source_type: Literal["pdf"] = "pdf"

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The pages of a file."""
        return pdf_pages(data, display_name(file, self.root))


def pdf_pages(data: bytes, name: str) -> list[Passage]:
    """The pages of a PDF file, with their numbers from 1 as `page`; pages without text are left out.

    Args:
        data: the content of the file.
        name: its origin, for messages.

    Raises:
        MissingExtra: the package for PDF files is not installed.
        SourceError: it cannot be read, or contains no text.
    """
    pypdf: object = require("pypdf", extra="pdf", purpose=f"the knowledge source `{name}`")

    def read() -> list[Passage]:
        pages = pypdf.PdfReader(io.BytesIO(data)).pages
        return [Passage(page.extract_text(), {"page": number}) for number, page in enumerate(pages, 1)]

    pages = read_or_fail("PDF file", name, read)
    if not any(page.text.strip() for page in pages):
        raise SourceError(
            f"the knowledge source `{name}` contains no text, only images; `CrewDoclingSource` reads those"
        )
    return [page for page in pages if page.text.strip()]


class ExcelKnowledgeSource(BaseFileKnowledgeSource):
    """Excel files (`.xlsx`) with all sheets: each row becomes a line that names its columns.

    `content` is the text of each sheet of each file.

    Raises:
        MissingExtra: the package for Excel files is not installed.
    """

    source_type: Literal["excel"] = "excel"

    def load_content(self) -> dict[Path, Any]:
        """The text of each sheet of each file."""
        super().load_content()
        return {file: {part.metadata["sheet"]: part.text for part in parts} for file, parts in self._read.items()}

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The sheets of a file; formulas are replaced by their saved values."""
        name = display_name(file, self.root)
        openpyxl: object = require("openpyxl", extra="excel", purpose=f"the knowledge source `{name}`")

        def read() -> list[tuple[str, str]]:
            with closing(openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)) as book:
                return [(sheet.title, rows_as_text(sheet.iter_rows(values_only=True))) for sheet in book.worksheets]

        sheets = read_or_fail("Excel file (`.xlsx`)", name, read)
        return [Passage(f"{title}\n{rows}", {"sheet": title}) for title, rows in sheets if rows]


_WEB = ("http://", "https://")
_TIMEOUT = 60
_MAX_BYTES = 50_000_000


class CrewDoclingSource(BaseKnowledgeSource):
    """Files and web pages in the formats that Docling reads, split at their own structure.

    Raises:
        MissingExtra: Docling is not installed.
        SourceNotFound: a file does not exist.
        SourceRefused: a file is outside the knowledge folder, or an address is private.
        SourceError: Docling cannot read a document.
    """

    source_type: Literal["docling"] = "docling"

    file_path: list[Path | str] | None = None
    """CrewAI's former name for `file_paths`."""

    file_paths: list[Path | str] = Field(default_factory=list[Path | str])
    """Paths relative to the knowledge folder, and addresses."""

    root: Path | None = None
    """Another knowledge folder for this source."""

    allow_private: bool | None = None
    """Whether private addresses are allowed; None for CREWGRAPH_ALLOW_PRIVATE_URLS."""

    safe_file_paths: list[Path | str] = Field(default_factory=list[Path | str])
    """The resolved files, and the addresses."""

    content: list[Any] = Field(default_factory=list[Any])
    """The documents, once they were read."""

    document_converter: Any = None
    """A custom Docling `DocumentConverter`."""

    def model_post_init(self, context: object, /) -> None:
        super().model_post_init(context)
        self.refresh()

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"{type(self).__name__}({', '.join(map(str, self.given_paths))})"

    @property
    def given_paths(self) -> list[Path | str]:
        """The files and addresses as they were configured."""
        return self.file_paths or self.file_path or []

    def refresh(self) -> None:
        """Resolve the files again."""
        if not self.given_paths:
            raise SourceError("`CrewDoclingSource` needs `file_paths`: a list of paths and addresses")
        self.safe_file_paths = self.validate_content()

    def validate_content(self, *_args: Any) -> list[Path | str]:
        """The files and addresses, validated."""
        return [
            parse_url(path).geturl()
            if isinstance(path, str) and path.startswith(_WEB)
            else resolve_file(path, self.root)
            for path in self.given_paths
        ]

    def load_content(self) -> list[Any]:
        """The documents as Docling reads them."""
        return [document for _, document in self._convert()]

    def _convert(self) -> list[tuple[str, object]]:
        purpose = f"the knowledge source `{self.title}`"
        reader: object = require("docling.document_converter", extra="docling", purpose=purpose)
        converter = self.document_converter or reader.DocumentConverter()
        converted: list[tuple[str, object]] = []
        for path in self.safe_file_paths:
            name = path if isinstance(path, str) else display_name(path, self.root)
            document: object = self._stream(path) if isinstance(path, str) else path
            read = partial(converter.convert, document)
            converted.append((name, read_or_fail("document for Docling", name, read).document))
        self.content = [document for _, document in converted]
        return converted

    def _stream(self, url: str) -> object:
        """A web page, fetched here because Docling fetches any address."""
        models: object = require(
            "docling.datamodel.base_models", extra="docling", purpose=f"the knowledge source `{url}`"
        )
        page = Fetcher(allow_private=self.allow_private, timeout=_TIMEOUT, max_bytes=_MAX_BYTES).fetch(url)
        name = PurePosixPath(urlsplit(page.url).path).name or "page"
        if "." not in name:
            name += ".html" if page.kind == "text/html" else f".{page.kind.rpartition('/')[2]}"
        return models.DocumentStream(name=name, stream=io.BytesIO(page.data))

    def _parts(self) -> list[Passage]:
        chunking: object = require(
            "docling_core.transforms.chunker.hierarchical_chunker",
            extra="docling",
            purpose=f"the knowledge source `{self.title}`",
        )
        chunker = chunking.HierarchicalChunker()
        return [
            Passage(chunk.text, {"source": name})
            for name, document in self._convert()
            for chunk in chunker.chunk(document)
        ]
