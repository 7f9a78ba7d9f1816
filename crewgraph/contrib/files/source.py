"""Where a file comes from (a path, bytes, a stream, a URL), what is in it, and what may be wrong with it."""

import asyncio
import mimetypes
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator
from io import IOBase
from os import PathLike
from pathlib import Path, PurePath
from typing import Annotated, Any, Self, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    TypeAdapter,
    field_validator,
    model_validator,
)

from crewgraph.errors import CrewgraphError, RunError

__all__ = [
    "BINARY",
    "FileBytes",
    "FileChanged",
    "FilePath",
    "FileProcessingError",
    "FileSource",
    "FileStream",
    "FileTooLargeError",
    "FileUrl",
    "FileValidationError",
    "GivenSource",
    "UnsupportedFileTypeError",
    "content_type_of",
    "is_text_content",
    "type_by_name",
]


class FileProcessingError(CrewgraphError):
    """A file cannot be used."""

    def __init__(self, message: str, file_name: str | None = None) -> None:
        """Tell which file, where that is known."""
        super().__init__(message)
        self.file_name = file_name


class FileValidationError(FileProcessingError):
    """A file cannot be taken."""


class FileTooLargeError(FileValidationError):
    """A file is larger than it may be."""

    def __init__(
        self, message: str, file_name: str | None = None, actual_size: int | None = None, max_size: int | None = None
    ) -> None:
        """Tell both sizes, in bytes."""
        super().__init__(message, file_name)
        self.actual_size, self.max_size = actual_size, max_size


class UnsupportedFileTypeError(FileValidationError):
    """A file is of a kind that cannot be used here."""

    def __init__(self, message: str, file_name: str | None = None, content_type: str | None = None) -> None:
        """Tell what it is."""
        super().__init__(message, file_name)
        self.content_type = content_type


class FileChanged(FileProcessingError, RunError):
    """A file is gone, or is not what it was when the run was given it."""


BINARY = "application/octet-stream"
"""The content type of what nobody knows."""

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)
_WITHIN = ((b"RIFF", b"WEBP", "image/webp"), (b"RIFF", b"WAVE", "audio/wav"), (b"RIFF", b"AVI ", "video/x-msvideo"))

_NAMES = {
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".webp": "image/webp",
    ".m4a": "audio/mp4",
}
"""What Python's own table has on some machines only."""

_TEXTS = {"application/json", "application/xml", "application/yaml", "application/toml", "application/javascript"}


def content_type_of(beginning: bytes, name: str | None = None) -> str:
    """The content type of a file.

    Args:
        beginning: its first bytes, some thousands at best.
        name: its name, where it has one.
    """
    for mark, kind in _BEGINNINGS:
        if beginning.startswith(mark):
            return kind
    for mark, then, kind in _WITHIN:
        if beginning[:4] == mark and beginning[8:12] == then:
            return kind
    named = type_by_name(name) if name else None
    if not _reads(beginning):
        # An image, a film or a document says so itself; a name may lie.
        return named if named and not is_text_content(named) and not named.startswith("image/") else BINARY
    return named if named and (is_text_content(named) or named == "image/svg+xml") else "text/plain"


def type_by_name(name: str) -> str | None:
    """What a file's name says that it is; None where it says nothing."""
    return _NAMES.get(PurePath(name).suffix.lower()) or mimetypes.guess_type(name)[0]


def is_text_content(content_type: str) -> bool:
    """Whether a file of this type can be read as text."""
    return content_type.startswith("text/") or content_type in _TEXTS or content_type == "image/svg+xml"


def _reads(beginning: bytes) -> bool:
    if b"\x00" in beginning:
        return False
    try:
        beginning.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(beginning) - 3  # a character cut in two
    return True


_LARGEST = 500 * 1024 * 1024
"""Bytes that a file may have, unless its `FilePath` says otherwise."""

_BEGINNING = 4096


class _Read(BaseModel, ABC):
    """What can be read at once or piece by piece."""

    @abstractmethod
    def read(self) -> bytes:
        """All of it."""

    async def aread(self) -> bytes:
        """All of it, without blocking the event loop."""
        return await asyncio.to_thread(self.read)

    def read_chunks(self, chunk_size: int = 65536) -> Generator[bytes]:
        """All of it in pieces of so many bytes."""
        data = self.read()
        for at in range(0, len(data), chunk_size):
            yield data[at : at + chunk_size]

    async def aread_chunks(self, chunk_size: int = 65536) -> AsyncGenerator[bytes]:
        """The same, without blocking the event loop."""
        data = await self.aread()
        for at in range(0, len(data), chunk_size):
            yield data[at : at + chunk_size]


class FilePath(_Read):
    """A file on this machine.

    A relative path is one below the working directory, and does not lead out of it; `..` stands in no path.
    """

    path: Path
    """Where it is."""

    max_size_bytes: int = Field(default=_LARGEST, exclude=True)
    """How large it may be."""

    @field_validator("path")
    @classmethod
    def _named(cls, path: Path) -> Path:
        if ".." in path.parts:
            raise ValueError(f"`{path}` has `..` in it; name the file by where it is")
        if not path.is_absolute() and not path.resolve().is_relative_to(Path.cwd().resolve()):
            raise ValueError(f"`{path}` leads out of the working directory; name the file by where it is")
        if not path.exists():
            raise ValueError(f"there is no file `{path}`; a relative path begins at the working directory")
        if not path.is_file():
            raise ValueError(f"`{path}` is no file that can be read")
        return path

    @model_validator(mode="after")
    def _sized(self) -> Self:
        size = self.path.stat().st_size
        if size > self.max_size_bytes:
            raise FileTooLargeError(
                f"`{self.path}` has {size} bytes, and may have {self.max_size_bytes} (`max_size_bytes`)",
                self.filename,
                size,
                self.max_size_bytes,
            )
        return self

    @property
    def filename(self) -> str:
        """Its name, without folders."""
        return self.path.name

    @property
    def content_type(self) -> str:
        """What it is, such as `image/png`."""
        with self.path.open("rb") as file:
            return content_type_of(file.read(_BEGINNING), self.filename)

    def read(self) -> bytes:
        """All of it."""
        return self.path.read_bytes()


class FileBytes(_Read):
    """What is in memory already."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    data: bytes
    filename: str | None = None

    @property
    def content_type(self) -> str:
        """What it is, such as `image/png`."""
        return content_type_of(self.data[:_BEGINNING], self.filename)

    def read(self) -> bytes:
        """All of it."""
        return self.data


class FileStream(_Read):
    """An open file; read once, from where it begins."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    stream: Any
    """Whatever has a `read` that gives bytes."""

    filename: str | None = None
    _data: bytes | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _named(self) -> Self:
        named = getattr(self.stream, "name", None)
        if self.filename is None and isinstance(named, str):
            self.filename = PurePath(named).name
        return self

    @property
    def content_type(self) -> str:
        """What it is, such as `image/png`."""
        return content_type_of(self.read()[:_BEGINNING], self.filename)

    def read(self) -> bytes:
        """All of it."""
        if self._data is None:
            if hasattr(self.stream, "seekable") and self.stream.seekable():
                self.stream.seek(0)
            data = self.stream.read()
            if not isinstance(data, bytes):
                raise FileProcessingError(
                    f"the stream gives {type(data).__name__}, not bytes; open it with `rb`", self.filename
                )
            self._data = data
        return self._data

    def close(self) -> None:
        """Close the stream."""
        self.stream.close()


class FileUrl(BaseModel):
    """A file that the model's provider fetches; we do not."""

    url: str
    filename: str | None = None

    @field_validator("url")
    @classmethod
    def _schemed(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"`{url}` is no http(s) address")
        return url

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.filename is None:
            self.filename = PurePath(self.url.partition("?")[0].rpartition("/")[2]).name or None
        return self

    @property
    def content_type(self) -> str:
        """What it is by its name."""
        return type_by_name(self.filename or "") or BINARY

    def read(self) -> bytes:
        """Refuse.

        Raises:
            FileProcessingError: always; what is behind an address is fetched by nobody here.
        """
        raise FileProcessingError(
            f"`{self.url}` is not fetched here: only a provider that is shown it does that. Fetch it, and give its bytes.",
            self.filename,
        )

    async def aread(self) -> bytes:
        """Refuse; see `read`."""
        return self.read()


FileSource = FilePath | FileBytes | FileStream | FileUrl
"""Where a file comes from."""


_read_back: TypeAdapter[FileSource] = TypeAdapter(FileSource)


def _sourced(given: Any) -> Any:
    """What a user gave, as a source."""
    if isinstance(given, (FilePath, FileBytes, FileStream, FileUrl)):
        return given
    if isinstance(given, str) and given.startswith(("http://", "https://")):
        return FileUrl(url=given)
    if isinstance(given, (str, PathLike)):
        return FilePath(path=Path(cast("str | PathLike[str]", given)))
    if isinstance(given, (bytes, bytearray)):
        return FileBytes(data=bytes(given))
    if isinstance(given, IOBase) or callable(getattr(given, "read", None)):
        return FileStream(stream=given)
    if isinstance(given, dict):
        return _read_back.validate_python(given)
    raise ValueError(f"{type(given).__name__} is no file; give a path, bytes, an open file or an http(s) address")


GivenSource = Annotated[Any, BeforeValidator(_sourced)]
"""A source, or what can be one: a path, bytes, an open file, an http(s) address."""
