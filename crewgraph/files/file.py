"""Files as users give them to runs."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Literal, Self

from pydantic import BaseModel

from crewgraph.files.source import FilePath, GivenSource

__all__ = ["AudioFile", "BaseFile", "File", "FileMode", "ImageFile", "PDFFile", "TextFile", "VideoFile"]

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
