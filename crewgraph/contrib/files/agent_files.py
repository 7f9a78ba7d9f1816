"""The files of a run, as one agent has them: what its model is shown, and the tool that reads the others."""

import base64
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from crewgraph.contrib.files.file import BaseFile
from crewgraph.contrib.files.record import content_of, recorded
from crewgraph.contrib.files.source import FileProcessingError, FileTooLargeError, is_text_content
from crewgraph.core.files import FileRecord, mark_of
from crewgraph.core.messages import Message
from crewgraph.errors import RunError, ToolFailed
from crewgraph.extras import require
from crewgraph.prompts.book import Book, english
from crewgraph.tools.base import BaseTool

__all__ = ["AgentFiles", "ReadFileTool", "ReadFileToolSchema"]

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
    if is_text_content(record["type"]):
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


_LARGEST = {"image": 5_000_000, "pdf": 30_000_000, "text": 20_000}
"""Bytes of a file that a model is shown. Providers refuse images and PDFs that are much larger; a long text is better read
when it is wanted."""


@dataclass(frozen=True, kw_only=True)
class AgentFiles:
    """The files of a run, as one agent has them."""

    records: Mapping[str, FileRecord]
    sight: frozenset[str] = frozenset()
    """What the model can be shown: some of "image", "pdf"."""

    tool: str | None = None
    """What the tool that reads files is called; None where there is none."""

    @cached_property
    def shown(self) -> Mapping[str, FileRecord]:
        """Those that the model is shown.

        Raises:
            FileTooLargeError: one whose mode is "strict" is too large for that.
        """
        return {name: one for name, one in self.records.items() if self._is_shown(name, one)}

    @property
    def others(self) -> Mapping[str, FileRecord]:
        """Those that it is not shown."""
        return {name: one for name, one in self.records.items() if name not in self.shown}

    def _is_shown(self, name: str, one: FileRecord) -> bool:
        kind = _kind(one["type"])
        if kind == "text":
            return bool(self.sight) and "url" not in one and one["size"] <= _LARGEST[kind]
        if kind not in self.sight:
            return False
        if one["size"] > _LARGEST[kind] and one["mode"] == "strict":
            raise FileTooLargeError(
                f"the file `{name}` has {one['size']} bytes, and a model can be shown {_LARGEST[kind]}; make it smaller, or "
                'leave `mode="strict"` out',
                name,
                one["size"],
                _LARGEST[kind],
            )
        return one["size"] <= _LARGEST[kind] and not ("url" in one and kind != "image")

    def notes(self, book: Book) -> tuple[str, ...]:
        """What the agent is told of them."""
        texts: list[str] = []
        if self.shown:
            texts.append(book.slice("files_shown", files=", ".join(map(_named, self.shown.items()))))
        if self.others and self.tool:
            listed = ", ".join(map(_named, self.others.items()))
            texts.append(book.slice("files_to_read", tool=self.tool, files=listed))
        elif self.others:
            texts.append(book.slice("files_named", files=", ".join(map(_placed, self.others.items()))))
        return tuple(texts)

    def shown_in(self, messages: list[Message]) -> list[Message]:
        """Messages with what is shown, in the last one of the user's."""
        if not self.shown:
            return messages
        at = max((n for n, one in enumerate(messages) if one["role"] == "user"), default=None)
        if at is None:
            raise RunError("there is no message of the user's that the files could stand in")
        message, content = messages[at].copy(), messages[at]["content"]
        before: list[str | dict[str, Any]] = (
            [{"type": "text", "text": content}] if isinstance(content, str) else content
        )
        message["content"] = [*before, *(mark_of(name, one) for name, one in self.shown.items())]
        return [*messages[:at], message, *messages[at + 1 :]]

    def tools(self, book: Book) -> list[ReadFileTool]:
        """The tool that reads those that are not shown; none where there are none."""
        if not self.others or self.tool is None:
            return []
        tool = ReadFileTool(name=self.tool, description=book.filled("tools", "read_file"))
        tool.set_records(self.others)
        return [tool]


def _kind(content_type: str) -> str:
    if content_type == "application/pdf":
        return "pdf"
    if content_type in ("image/png", "image/jpeg", "image/gif", "image/webp", "image/*"):
        return "image"
    return "text" if is_text_content(content_type) else "other"


def _named(item: tuple[str, FileRecord]) -> str:
    return f"{item[0]} ({item[1]['filename']}, {item[1]['type']})"


def _placed(item: tuple[str, FileRecord]) -> str:
    name, one = item
    return f"{name} ({one.get('path') or one.get('url') or one['filename']}, {one['type']})"
