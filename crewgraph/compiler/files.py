"""The files of a run, as one agent has them: what its model is shown, and what it reads with a tool."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from crewgraph.core.messages import Message
from crewgraph.errors import RunError
from crewgraph.files.blocks import mark_of
from crewgraph.files.errors import FileTooLargeError
from crewgraph.files.kind import is_text
from crewgraph.files.record import FileRecord
from crewgraph.prompts.book import Book
from crewgraph.tools.input_file import ReadFileTool

__all__ = ["NO_FILES", "Files", "files_tool"]

_LARGEST = {"image": 5_000_000, "pdf": 30_000_000, "text": 20_000}
"""Bytes of a file that a model is shown. Providers refuse images and PDFs that are much larger; a long text is better read
when it is wanted."""


@dataclass(frozen=True, kw_only=True)
class Files:
    """Files at hand."""

    records: Mapping[str, FileRecord]
    sight: frozenset[str] = frozenset()
    """What the model can be shown: some of "image", "pdf"."""

    tool: str | None = None
    """What the tool that reads files is called; None where there is none."""

    def __bool__(self) -> bool:
        return bool(self.records)

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

    def told(self, book: Book) -> tuple[str, ...]:
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


NO_FILES = Files(records={})
"""No files."""


def files_tool(files: Files, book: Book) -> list[ReadFileTool]:
    """The tool that reads those that are not shown; none where there are none."""
    if not files.others or files.tool is None:
        return []
    tool = ReadFileTool(name=files.tool, description=book.filled("tools", "read_file"))
    tool.set_records(files.others)
    return [tool]


def _kind(content_type: str) -> str:
    if content_type == "application/pdf":
        return "pdf"
    if content_type in ("image/png", "image/jpeg", "image/gif", "image/webp", "image/*"):
        return "image"
    return "text" if is_text(content_type) else "other"


def _named(item: tuple[str, FileRecord]) -> str:
    return f"{item[0]} ({item[1]['filename']}, {item[1]['type']})"


def _placed(item: tuple[str, FileRecord]) -> str:
    name, one = item
    return f"{name} ({one.get('path') or one.get('url') or one['filename']}, {one['type']})"
