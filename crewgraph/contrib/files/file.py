"""Files in the forms that users give them to runs, tasks and agents in."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal, Self, cast

from pydantic import BaseModel

from crewgraph.contrib.files.source import FileBytes, FilePath, FileSource, FileUrl, GivenSource

__all__ = [
    "AudioFile",
    "BaseFile",
    "File",
    "FileMode",
    "ImageFile",
    "PDFFile",
    "TextFile",
    "VideoFile",
    "given_files",
    "normalize_input_files",
    "wrap_file_source",
]

FileMode = Literal["strict", "auto", "warn", "chunk"]
"""What becomes of a file that is too large for a model to be shown: "strict" is an error, else a tool reads it."""


class BaseFile(BaseModel):
    """A file: `File(source="report.pdf")`, or `File(source=b"...")`.

    Raises:
        ValidationError: there is no such file, or it may not be read.
        FileTooLargeError: it is larger than it may be.
    """

    source: GivenSource
    """Where it comes from: a path, bytes, an open file, an http(s) address, or one of the classes for these."""

    mode: FileMode = "auto"
    """What becomes of it where it is too large for a model to be shown."""

    @property
    def filename(self) -> str | None:
        """Its name without folders, where it has one."""
        return self.source.filename

    @property
    def content_type(self) -> str:
        """What it is, such as `image/png`."""
        return self.source.content_type

    def read(self) -> bytes:
        """What is in it."""
        return self.source.read()

    async def aread(self) -> bytes:
        """What is in it, read without blocking the event loop."""
        return await self.source.aread()

    def read_text(self, encoding: str = "utf-8") -> str:
        """What is in it, as text."""
        return self.read().decode(encoding)

    def keys(self) -> list[str]:
        """The name it has in `{**file}`: that of the file, without its ending."""
        return [PurePath(self.filename).stem if self.filename else "file"]

    def __getitem__(self, key: str) -> Self:
        if key not in self.keys():
            raise KeyError(key)
        return self

    def __iter__(self) -> Iterator[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return iter(self.keys())

    def __str__(self) -> str:
        return str(self.source.path) if isinstance(self.source, FilePath) else self.filename or "file"


class File(BaseFile):
    """A file of any kind, which is found out."""


class ImageFile(BaseFile):
    """An image."""


class PDFFile(BaseFile):
    """A PDF."""


class TextFile(BaseFile):
    """A text."""


class AudioFile(BaseFile):
    """A recording."""


class VideoFile(BaseFile):
    """A film."""


_FORM = '{"chart": ImageFile(source="chart.png")}'


def given_files(given: Any) -> dict[str, BaseFile]:
    """Files by name.

    Args:
        given: files by name, or a list of them, each a file, a path, bytes, an open file, or an http(s) address. In a list
            a file has its own name, else "file_0" by its place.

    Raises:
        ValueError: something is no file, or is not there.
        FileTooLargeError: one is larger than it may be.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping) and not isinstance(given, BaseFile):
        named = cast("Mapping[Any, Any]", given)
        if not all(isinstance(name, str) and name for name in named):
            raise ValueError(f"`input_files` has a file without a name; give {_FORM}")
        return {name: _file(one) for name, one in named.items()}
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        return normalize_input_files(list(cast("Sequence[Any]", given)))
    raise ValueError(f"`input_files` is {given!r:.60}; give files by name: {_FORM}")


def normalize_input_files(input_files: list[Any]) -> dict[str, BaseFile]:
    """Files of a list by their names; one without a name is "file_0" by its place."""
    found: dict[str, BaseFile] = {}
    for at, one in enumerate(input_files):
        file = _file(one)
        named = file.filename if isinstance(file.source, FilePath) else getattr(file.source, "filename", None)
        name = named if named and not isinstance(file.source, FileUrl) else f"file_{at}"
        found[f"{at}_{name}" if name in found else name] = file
    return found


def wrap_file_source(source: FileSource) -> BaseFile:
    """A source as the file that its content says it is."""
    kind = source.content_type
    wrapped = next((made for start, made in _KINDS if kind.startswith(start)), File)
    return wrapped(source=source)


_KINDS: tuple[tuple[str, type[BaseFile]], ...] = (
    ("image/", ImageFile),
    ("application/pdf", PDFFile),
    ("audio/", AudioFile),
    ("video/", VideoFile),
    ("text/", TextFile),
    ("application/json", TextFile),
)


def _file(given: Any) -> BaseFile:
    if isinstance(given, BaseFile):
        return given
    source = getattr(given, "source", None)
    if source is not None and hasattr(given, "content_type"):  # of the package that programs import files from
        path, url = getattr(source, "path", None), getattr(source, "url", None)
        mode: Any = getattr(given, "mode", "auto")
        if path is not None:
            return File(source=FilePath(path=path), mode=mode)
        if url is not None:
            return File(source=FileUrl(url=url), mode=mode)
        return File(source=FileBytes(data=given.read(), filename=given.filename), mode=mode)
    return wrap_file_source(File(source=given).source)
