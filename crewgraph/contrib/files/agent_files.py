"""The files of a run for one agent: those its model is shown, and the tool that reads the others."""

import base64
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.contrib.files.file import BaseFile, FileProcessingError, FileTooLargeError, is_text_content
from crewgraph.contrib.files.record import content_of, record_files
from crewgraph.core.files import FileRecord, mark_of
from crewgraph.core.messages import Message
from crewgraph.errors import RunError, ToolFailed
from crewgraph.extras import require
from crewgraph.prompts.i18n import Book, default_book
from crewgraph.tools.base import BaseTool, keep_never

_MAX_LENGTH = 100_000
"""Maximum characters of text, or bytes of other data, that the tool returns."""


class ReadFileToolSchema(BaseModel):
    """What the tool takes."""

    model_config = ConfigDict(extra="forbid")

    file_name: str = Field(description="The file's name, as listed")


class ReadFileTool(BaseTool):
    """Reads the files that a run was given, and no others."""

    name: str = "read_file"
    description: str = Field(default_factory=lambda: default_book().filled("tools", "read_file"))
    args_schema: type[BaseModel] = ReadFileToolSchema
    cache_function: Callable[..., bool] = keep_never

    records: Any = Field(default_factory=dict[str, FileRecord], exclude=True, repr=False)
    """The files that it reads, in the state in which the run recorded them."""

    def set_files(self, files: Mapping[str, BaseFile] | None) -> None:
        """Set the files that the tool reads, in their current state."""
        self.records = record_files(files or {})

    def _run(self, file_name: str, **kwargs: object) -> str:
        """Return a file's text, shortened if very long; for a small binary file, its bytes in base64.

        Raises:
            ToolFailed: If the file can no longer be read.
        """
        book = default_book()
        if not self.records:
            return book.error("no_files")
        record = self.records.get(file_name.strip().strip("\"'"))
        if record is None:
            return book.error("no_such_file", file=file_name, files=", ".join(self.records))
        if "url" in record:
            return f"{record['filename']} ({record['type']}): {record['url']}"
        try:
            data = content_of(record)
            if is_text_content(record["type"]):
                return _truncate(data.decode("utf-8", "replace"))
            if record["type"] == "application/pdf" and (text := _text_of_pdf(record["filename"], data)):
                return _truncate(text)
            header = f"{record['filename']} ({record['type']}, {len(data)} bytes)"
            if len(data) > _MAX_LENGTH:
                return f"{header}: no text, and too large to be given here."
            return f"{header}\nBase64: {base64.b64encode(data).decode()}"
        except FileProcessingError as error:
            raise ToolFailed(
                f"`{file_name}` cannot be read: it is gone, or was changed since the run began."
            ) from error


def _text_of_pdf(name: str, data: bytes) -> str:
    pypdf: object = require("pypdf", extra="pdf", purpose=f"reading `{name}`")
    try:
        pages = list[Any](pypdf.PdfReader(io.BytesIO(data)).pages)
        return "\n\n".join(str(page.extract_text() or "") for page in pages).strip()
    except pypdf.errors.PyPdfError:
        return ""  # the caller falls back to the bytes


def _truncate(text: str) -> str:
    if len(text) <= _MAX_LENGTH:
        return text
    return f"{text[:_MAX_LENGTH]}\n(cut here: {len(text)} characters in all)"


_MAX_SHOWN_SIZE = {"image": 5_000_000, "pdf": 30_000_000, "text": 20_000}
"""Maximum size in bytes of files that a model is shown. Providers reject much larger images and PDFs; long texts are better read
on demand."""


@dataclass(frozen=True, kw_only=True)
class AgentFiles:
    """The files of a run for one agent."""

    records: Mapping[str, FileRecord]
    sight: frozenset[str] = frozenset()
    """Kinds of files that the model accepts: a subset of "image", "pdf"."""

    tool: str | None = None
    """Name of the tool that reads files; None if there is none."""

    @cached_property
    def shown(self) -> Mapping[str, FileRecord]:
        """The files that the model is shown.

        Raises:
            FileTooLargeError: If a file whose mode is "strict" is too large.
        """
        return {name: record for name, record in self.records.items() if self._is_shown(name, record)}

    @property
    def others(self) -> Mapping[str, FileRecord]:
        """The files that the model is not shown."""
        return {name: record for name, record in self.records.items() if name not in self.shown}

    def _is_shown(self, name: str, record: FileRecord) -> bool:
        kind = _file_kind(record["type"])
        if kind == "text":
            return bool(self.sight) and "url" not in record and record["size"] <= _MAX_SHOWN_SIZE[kind]
        if kind not in self.sight:
            return False
        if record["size"] > _MAX_SHOWN_SIZE[kind] and record["mode"] == "strict":
            raise FileTooLargeError(
                f"the file `{name}` has {record['size']} bytes, but a model can be shown {_MAX_SHOWN_SIZE[kind]}; shrink it, "
                'or remove `mode="strict"`'
            )
        return record["size"] <= _MAX_SHOWN_SIZE[kind] and not ("url" in record and kind != "image")

    def notes(self, book: Book) -> tuple[str, ...]:
        """Return the notes on the files for the agent's prompt."""
        texts: list[str] = []
        if self.shown:
            texts.append(book.slice("files_shown", files=", ".join(map(_name_and_type, self.shown.items()))))
        if self.others and self.tool:
            names = ", ".join(map(_name_and_type, self.others.items()))
            texts.append(book.slice("files_to_read", tool=self.tool, files=names))
        elif self.others:
            texts.append(book.slice("files_named", files=", ".join(map(_name_and_location, self.others.items()))))
        return tuple(texts)

    def shown_in(self, messages: list[Message]) -> list[Message]:
        """Return the messages with the shown files added to the last user message."""
        if not self.shown:
            return messages
        index = max((n for n, item in enumerate(messages) if item["role"] == "user"), default=None)
        if index is None:
            raise RunError("there is no user message to attach the files to")
        message, content = messages[index].copy(), messages[index]["content"]
        blocks: list[str | dict[str, object]] = (
            [{"type": "text", "text": content}] if isinstance(content, str) else content
        )
        message["content"] = [*blocks, *(mark_of(name, record) for name, record in self.shown.items())]
        return [*messages[:index], message, *messages[index + 1 :]]

    def tools(self, book: Book) -> list[ReadFileTool]:
        """Return the tool that reads the files that are not shown, if there are any."""
        if not self.others or self.tool is None:
            return []
        description = book.filled("tools", "read_file")
        return [ReadFileTool(name=self.tool, description=description, records=self.others)]


def _file_kind(content_type: str) -> str:
    if content_type == "application/pdf":
        return "pdf"
    if content_type in ("image/png", "image/jpeg", "image/gif", "image/webp", "image/*"):
        return "image"
    return "text" if is_text_content(content_type) else "other"


def _name_and_type(item: tuple[str, FileRecord]) -> str:
    return f"{item[0]} ({item[1]['filename']}, {item[1]['type']})"


def _name_and_location(item: tuple[str, FileRecord]) -> str:
    name, record = item
    return f"{name} ({record.get('path') or record.get('url') or record['filename']}, {record['type']})"
