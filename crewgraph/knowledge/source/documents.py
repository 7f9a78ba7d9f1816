"""Sources of PDF files, Excel files, and the formats that Docling reads (Word, PowerPoint, scans and more)."""

import io
import warnings
import zipfile
from contextlib import closing
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field

from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import SourceError
from crewgraph.extras import require
from crewgraph.knowledge.files import Fetcher, check_file, display_name, parse_url, read_or_fail, resolve_file
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.source.base import BaseFileKnowledgeSource, BaseKnowledgeSource
from crewgraph.knowledge.source.text_files import rows_as_text


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
    """The pages of a PDF file, with their numbers from 1 as `page`; pages without text are left out, with a warning.

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
    if empty := [page.metadata["page"] for page in pages if not page.text.strip()]:
        _warn_of_gaps(
            name, f"pages without text, such as scans: {_places_text(empty)}; `CrewDoclingSource` reads those"
        )
    return [page for page in pages if page.text.strip()]


def _warn_of_gaps(name: str, gaps: str) -> None:
    warnings.warn(f"the knowledge source `{name}` is not read whole: it has {gaps}", stacklevel=user_stacklevel())


def _places_text(places: list[Any]) -> str:
    return ", ".join(map(str, places[:_SHOWN])) + (f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else "")


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
        """The sheets of a file; formulas are replaced by their saved values, and merged cells share their label."""
        name = display_name(file, self.root)
        openpyxl: object = require("openpyxl", extra="excel", purpose=f"the knowledge source `{name}`")
        gaps: list[str] = []

        def read() -> list[tuple[str, str]]:
            with zipfile.ZipFile(io.BytesIO(data)) as parts:
                merged = any(b"<mergeCell " in parts.read(part) for part in parts.namelist() if "/worksheets/" in part)
            with (
                closing(openpyxl.load_workbook(io.BytesIO(data), read_only=not merged, data_only=True)) as book,
                closing(openpyxl.load_workbook(io.BytesIO(data), read_only=True)) as formulas,
            ):
                return [
                    (sheet.title, rows_as_text(_sheet_rows(sheet, written, gaps, merged)))
                    for sheet, written in zip(book.worksheets, formulas.worksheets, strict=True)
                ]

        sheets = read_or_fail("Excel file (`.xlsx`)", name, read)
        if gaps:
            _warn_of_gaps(
                name, f"formulas without a stored value, {_places_text(gaps)}; save it with a spreadsheet program"
            )
        return [Passage(f"{title}\n{rows}", {"sheet": title}) for title, rows in sheets if rows]


def _sheet_rows(sheet: Any, formulas: Any, gaps: list[str], merged: bool) -> list[list[object]]:
    """The values of a sheet; `gaps` receives the cells whose formula has no stored value (an empty text is one)."""
    rows: list[list[object]] = []
    for cells, written in zip(sheet.iter_rows(), formulas.iter_rows(), strict=False):
        rows.append([cell.value for cell in cells])
        gaps += [
            f"`{sheet.title}!{formula.coordinate}`"
            for cell, formula in zip(cells, written, strict=False)
            if formula.data_type == "f" and cell.value is None and cell.data_type == "n"
        ]
    for area in sheet.merged_cells.ranges if merged else ():
        for row in rows[area.min_row - 1 : area.max_row]:
            row[area.min_col - 1 : area.max_col] = [sheet.cell(area.min_row, area.min_col).value] * area.size["columns"]
    return rows


_SHOWN = 10
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
        places = [
            parse_url(path).geturl()
            if isinstance(path, str) and path.startswith(_WEB)
            else resolve_file(path, self.root)
            for path in self.given_paths
        ]
        for place in places:
            if isinstance(place, Path):
                check_file(place, self.title, self.root)
        return places

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
