"""The tool with which an agent reads a file that the run was given."""

import base64
import io
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from crewgraph.errors import ToolFailed
from crewgraph.extras import require
from crewgraph.files.errors import FileProcessingError
from crewgraph.files.file import BaseFile
from crewgraph.files.kind import is_text
from crewgraph.files.record import FileRecord, content_of, recorded
from crewgraph.prompts.book import english
from crewgraph.tools.base import BaseTool

__all__ = ["ReadFileTool", "ReadFileToolSchema"]

_LONGEST = 100_000
"""Characters of a text, or bytes of anything else, that a model is given."""


def _never(_arguments: Any = None, _result: Any = None) -> bool:
    return False  # a file may be another one the next time


class ReadFileToolSchema(BaseModel):
    """What the tool takes."""

    model_config = ConfigDict(extra="forbid")

    file_name: str = Field(description="The name of the file, as it is listed")


class ReadFileTool(BaseTool):
    """Reads the files that a run was given, and no others."""

    name: str = "read_file"
    description: str = Field(default_factory=lambda: english().filled("tools", "read_file"))
    args_schema: type[BaseModel] = ReadFileToolSchema
    cache_function: Callable[..., bool] = _never

    _files: dict[str, FileRecord] = PrivateAttr(default_factory=dict[str, FileRecord])

    def set_files(self, files: Mapping[str, BaseFile] | None) -> None:
        """Name the files that it reads; it reads each as it is now."""
        self._files = recorded(files or {})

    def set_records(self, files: Mapping[str, FileRecord]) -> None:
        """Name the files of a run that it reads; it reads each as it was when the run was given it."""
        self._files = dict(files)

    def _run(self, file_name: str, **kwargs: Any) -> str:
        """The text of a file, cut where it is very long; of a small file that is no text, its bytes in base64.

        Raises:
            ToolFailed: there is no such file, or it cannot be read any more.
        """
        book = english()
        if not self._files:
            return book.error("no_files")
        record = self._files.get(file_name.strip().strip("\"'"))
        if record is None:
            return book.error("no_such_file", file=file_name, files=", ".join(self._files))
        if "url" in record:
            return f"{record['filename']} ({record['type']}): {record['url']}"
        try:
            return _text_of(record, content_of(record))
        except FileProcessingError as error:
            raise ToolFailed(
                f"`{file_name}` cannot be read: it is gone, or was changed since the run began."
            ) from error


def _text_of(record: FileRecord, data: bytes) -> str:
    if is_text(record["type"]):
        return _bounded(data.decode("utf-8", "replace"))
    if record["type"] == "application/pdf" and (text := _text_of_pdf(record["filename"], data)):
        return _bounded(text)
    told = f"{record['filename']} ({record['type']}, {len(data)} bytes)"
    if len(data) > _LONGEST:
        return f"{told}: no text, and too large to be given here."
    return f"{told}\nBase64: {base64.b64encode(data).decode()}"


def _text_of_pdf(name: str, data: bytes) -> str:
    pypdf: Any = require("pypdf", extra="pdf", purpose=f"reading `{name}`")
    try:
        pages = list[Any](pypdf.PdfReader(io.BytesIO(data)).pages)
        return "\n\n".join(str(page.extract_text() or "") for page in pages).strip()
    except pypdf.errors.PyPdfError:
        return ""  # its bytes may still tell somebody something


def _bounded(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\n(cut here: {len(text)} characters in all)"
