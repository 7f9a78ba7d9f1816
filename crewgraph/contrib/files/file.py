"""File classes that users pass to runs, tasks and agents, and normalization of `input_files`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal, Self, cast

from pydantic import BaseModel

from crewgraph.contrib.files.source import FileBytes, FilePath, FileSource, FileSourceInput, FileUrl

__all__ = [
    "AudioFile",
    "BaseFile",
    "File",
    "FileMode",
    "ImageFile",
    "PDFFile",
    "TextFile",
    "VideoFile",
    "normalize_input_files",
    "read_input_files",
    "wrap_file_source",
]

FileMode = Literal["strict", "auto", "warn", "chunk"]
"""Handling of files too large to show to a model: "strict" raises an error, all others leave them to a tool."""


class BaseFile(BaseModel):
    """A file: `File(source="report.pdf")`, or `File(source=b"...")`.

    Raises:
        ValidationError: If there is no such file, or it may not be read.
        FileTooLargeError: If it exceeds its maximum size.
    """

    source: FileSourceInput
    """A path, bytes, an open file, an http(s) URL, or one of the source classes."""

    mode: FileMode = "auto"
    """Handling of the file if it is too large to show to a model."""

    @property
    def filename(self) -> str | None:
        """Name without folders, if there is one."""
        return self.source.filename

    @property
    def content_type(self) -> str:
        """Content type, such as `image/png`."""
        return self.source.content_type

    def read(self) -> bytes:
        """Return the contents."""
        return self.source.read()

    async def aread(self) -> bytes:
        """Async version of `read`."""
        return await self.source.aread()

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return the contents as text."""
        return self.read().decode(encoding)

    def keys(self) -> list[str]:
        """Return its only key in `{**file}`: the file's name without suffix."""
        return [PurePath(self.filename).stem if self.filename else "file"]

    def __getitem__(self, key: str) -> Self:
        if key not in self.keys():
            raise KeyError(key)
        return self

    def __iter__(self) -> Iterator[object]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return iter(self.keys())

    def __str__(self) -> str:
        return str(self.source.path) if isinstance(self.source, FilePath) else self.filename or "file"


class File(BaseFile):
    """A file whose type is detected."""


class ImageFile(BaseFile):
    """An image."""


class PDFFile(BaseFile):
    """A PDF."""


class TextFile(BaseFile):
    """A text file."""


class AudioFile(BaseFile):
    """An audio file."""


class VideoFile(BaseFile):
    """A video."""


_EXAMPLE = '{"chart": ImageFile(source="chart.png")}'


def read_input_files(value: Any) -> dict[str, BaseFile]:
    """Normalize `input_files` to files by name.

    Args:
        value: Files by name, or a list of files; each a file object, a path, bytes, an open file, or an http(s) URL. In a
            list, files are named by their own names, else "file_0" by position.

    Raises:
        ValueError: If an item is not a file, or does not exist.
        FileTooLargeError: If a file exceeds its maximum size.
    """
    if value is None:
        return {}
    if isinstance(value, Mapping) and not isinstance(value, BaseFile):
        by_name = cast("Mapping[Any, Any]", value)
        if not all(isinstance(name, str) and name for name in by_name):
            raise ValueError(f"`input_files` has a file without a name; pass {_EXAMPLE}")
        return {name: _file(item) for name, item in by_name.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return normalize_input_files(list(cast("Sequence[Any]", value)))
    raise ValueError(f"`input_files` is {value!r:.60}; pass files by name: {_EXAMPLE}")


def normalize_input_files(input_files: list[Any]) -> dict[str, BaseFile]:
    """Return the files of a list by name; those without a name are "file_0" by position."""
    by_name: dict[str, BaseFile] = {}
    for index, item in enumerate(input_files):
        file = _file(item)
        filename = file.filename if isinstance(file.source, FilePath) else getattr(file.source, "filename", None)
        name = filename if filename and not isinstance(file.source, FileUrl) else f"file_{index}"
        by_name[f"{index}_{name}" if name in by_name else name] = file
    return by_name


def wrap_file_source(source: FileSource) -> BaseFile:
    """Wrap a source in the file class of its content type."""
    kind = source.content_type
    file_class = next((candidate for prefix, candidate in _KINDS if kind.startswith(prefix)), File)
    return file_class(source=source)


_KINDS: tuple[tuple[str, type[BaseFile]], ...] = (
    ("image/", ImageFile),
    ("application/pdf", PDFFile),
    ("audio/", AudioFile),
    ("video/", VideoFile),
    ("text/", TextFile),
    ("application/json", TextFile),
)


def _file(value: Any) -> BaseFile:
    if isinstance(value, BaseFile):
        return value
    source = getattr(value, "source", None)
    if source is not None and hasattr(value, "content_type"):  # a file object of the `crewai_files` package
        path, url = getattr(source, "path", None), getattr(source, "url", None)
        mode: Any = getattr(value, "mode", "auto")
        if path is not None:
            return File(source=FilePath(path=path), mode=mode)
        if url is not None:
            return File(source=FileUrl(url=url), mode=mode)
        return File(source=FileBytes(data=value.read(), filename=value.filename), mode=mode)
    return wrap_file_source(File(source=value).source)
