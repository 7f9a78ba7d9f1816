"""Sources of files (path, bytes, stream, URL), content types, and errors."""

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
    "FileSourceInput",
    "FileStream",
    "FileTooLargeError",
    "FileUrl",
    "FileValidationError",
    "UnsupportedFileTypeError",
    "content_type_of",
    "is_text_content",
    "type_by_name",
]


class FileProcessingError(CrewgraphError):
    """A file cannot be used."""

    def __init__(self, message: str, file_name: str | None = None) -> None:
        """Create the error; `file_name` is None if unknown."""
        super().__init__(message)
        self.file_name = file_name


class FileValidationError(FileProcessingError):
    """A file is not valid as input."""


class FileTooLargeError(FileValidationError):
    """A file exceeds its maximum size."""

    def __init__(
        self, message: str, file_name: str | None = None, actual_size: int | None = None, max_size: int | None = None
    ) -> None:
        """Create the error; sizes are in bytes."""
        super().__init__(message, file_name)
        self.actual_size, self.max_size = actual_size, max_size


class UnsupportedFileTypeError(FileValidationError):
    """A file has an unsupported content type."""

    def __init__(self, message: str, file_name: str | None = None, content_type: str | None = None) -> None:
        """Create the error."""
        super().__init__(message, file_name)
        self.content_type = content_type


class FileChanged(FileProcessingError, RunError):
    """A run's file no longer exists, or has changed since the run started."""


BINARY = "application/octet-stream"
"""Content type of unknown data."""

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)
_CONTAINER_SIGNATURES = (
    (b"RIFF", b"WEBP", "image/webp"),
    (b"RIFF", b"WAVE", "audio/wav"),
    (b"RIFF", b"AVI ", "video/x-msvideo"),
)

_EXTRA_TYPES = {
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".webp": "image/webp",
    ".m4a": "audio/mp4",
}
"""Types by suffix that Python's `mimetypes` knows on some systems only."""

_TEXT_TYPES = {"application/json", "application/xml", "application/yaml", "application/toml", "application/javascript"}


def content_type_of(beginning: bytes, name: str | None = None) -> str:
    """Detect the content type of a file.

    Args:
        beginning: Its first bytes, preferably a few thousand.
        name: Its name, if known.
    """
    for signature, kind in _SIGNATURES:
        if beginning.startswith(signature):
            return kind
    for container, form, kind in _CONTAINER_SIGNATURES:
        if beginning[:4] == container and beginning[8:12] == form:
            return kind
    by_name = type_by_name(name) if name else None
    if not _is_utf8(beginning):
        # Images have a signature, so a name that claims one is wrong here.
        return by_name if by_name and not is_text_content(by_name) and not by_name.startswith("image/") else BINARY
    return by_name if by_name and (is_text_content(by_name) or by_name == "image/svg+xml") else "text/plain"


def type_by_name(name: str) -> str | None:
    """Return the content type that a file's name suggests, or None."""
    return _EXTRA_TYPES.get(PurePath(name).suffix.lower()) or mimetypes.guess_type(name)[0]


def is_text_content(content_type: str) -> bool:
    """Return whether files of a content type can be read as text."""
    return content_type.startswith("text/") or content_type in _TEXT_TYPES or content_type == "image/svg+xml"


def _is_utf8(beginning: bytes) -> bool:
    if b"\x00" in beginning:
        return False
    try:
        beginning.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(beginning) - 3  # a character cut off at the end
    return True


_DEFAULT_MAX_SIZE = 500 * 1024 * 1024
"""Default of `FilePath.max_size_bytes`."""

_DETECTION_SIZE = 4096  # bytes


class _ReadableSource(BaseModel, ABC):
    """Base class of sources that can be read whole or in chunks."""

    @abstractmethod
    def read(self) -> bytes:
        """Return the contents."""

    async def aread(self) -> bytes:
        """Async version of `read`, run in a thread."""
        return await asyncio.to_thread(self.read)

    def read_chunks(self, chunk_size: int = 65536) -> Generator[bytes]:
        """Yield the contents in chunks of `chunk_size` bytes."""
        data = self.read()
        for start in range(0, len(data), chunk_size):
            yield data[start : start + chunk_size]

    async def aread_chunks(self, chunk_size: int = 65536) -> AsyncGenerator[bytes]:
        """Async version of `read_chunks`."""
        data = await self.aread()
        for start in range(0, len(data), chunk_size):
            yield data[start : start + chunk_size]


class FilePath(_ReadableSource):
    """A local file.

    A relative path must stay below the working directory; no path may contain `..`.
    """

    path: Path
    """The file's path."""

    max_size_bytes: int = Field(default=_DEFAULT_MAX_SIZE, exclude=True)
    """Maximum size of the file."""

    @field_validator("path")
    @classmethod
    def _check_path(cls, path: Path) -> Path:
        if ".." in path.parts:
            raise ValueError(f"`{path}` contains `..`; use the actual path of the file")
        if not path.is_absolute() and not path.resolve().is_relative_to(Path.cwd().resolve()):
            raise ValueError(f"`{path}` leads out of the working directory; use the actual path of the file")
        if not path.exists():
            raise ValueError(f"there is no file `{path}`; relative paths start at the working directory")
        if not path.is_file():
            raise ValueError(f"`{path}` is not a regular file")
        return path

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        size = self.path.stat().st_size
        if size > self.max_size_bytes:
            raise FileTooLargeError(
                f"`{self.path}` has {size} bytes, more than the {self.max_size_bytes} of `max_size_bytes`",
                self.filename,
                size,
                self.max_size_bytes,
            )
        return self

    @property
    def filename(self) -> str:
        """Name without folders."""
        return self.path.name

    @property
    def content_type(self) -> str:
        """Detected content type, such as `image/png`."""
        with self.path.open("rb") as file:
            return content_type_of(file.read(_DETECTION_SIZE), self.filename)

    def read(self) -> bytes:
        """Return the contents."""
        return self.path.read_bytes()


class FileBytes(_ReadableSource):
    """A file in memory."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    data: bytes
    filename: str | None = None

    @property
    def content_type(self) -> str:
        """Detected content type, such as `image/png`."""
        return content_type_of(self.data[:_DETECTION_SIZE], self.filename)

    def read(self) -> bytes:
        """Return the contents."""
        return self.data


class FileStream(_ReadableSource):
    """An open file; read once, from its start if it is seekable."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    stream: Any
    """Object whose `read` returns bytes."""

    filename: str | None = None
    _data: bytes | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _set_filename(self) -> Self:
        name = getattr(self.stream, "name", None)
        if self.filename is None and isinstance(name, str):
            self.filename = PurePath(name).name
        return self

    @property
    def content_type(self) -> str:
        """Detected content type, such as `image/png`."""
        return content_type_of(self.read()[:_DETECTION_SIZE], self.filename)

    def read(self) -> bytes:
        """Return the contents."""
        if self._data is None:
            if hasattr(self.stream, "seekable") and self.stream.seekable():
                self.stream.seek(0)
            data = self.stream.read()
            if not isinstance(data, bytes):
                raise FileProcessingError(
                    f"the stream returns {type(data).__name__}, not bytes; open it with `rb`", self.filename
                )
            self._data = data
        return self._data

    def close(self) -> None:
        """Close the stream."""
        self.stream.close()


class FileUrl(BaseModel):
    """A file that the model's provider fetches; crewgraph never does."""

    url: str
    filename: str | None = None

    @field_validator("url")
    @classmethod
    def _check_scheme(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"`{url}` is not an http(s) URL")
        return url

    @model_validator(mode="after")
    def _set_filename(self) -> Self:
        if self.filename is None:
            self.filename = PurePath(self.url.partition("?")[0].rpartition("/")[2]).name or None
        return self

    @property
    def content_type(self) -> str:
        """Content type that its name suggests."""
        return type_by_name(self.filename or "") or BINARY

    def read(self) -> bytes:
        """Not supported.

        Raises:
            FileProcessingError: Always, since crewgraph does not fetch URLs.
        """
        raise FileProcessingError(
            f"`{self.url}` is not fetched: only model providers fetch URLs. Download the file, and pass its bytes.",
            self.filename,
        )

    async def aread(self) -> bytes:
        """Not supported; see `read`."""
        return self.read()


FileSource = FilePath | FileBytes | FileStream | FileUrl
"""Any source of a file."""


_source_adapter: TypeAdapter[FileSource] = TypeAdapter(FileSource)


def _as_file_source(value: Any) -> object:
    """Convert a path, bytes, stream or URL to a source."""
    if isinstance(value, (FilePath, FileBytes, FileStream, FileUrl)):
        return value
    if isinstance(value, str) and value.startswith(("http://", "https://")):
        return FileUrl(url=value)
    if isinstance(value, (str, PathLike)):
        return FilePath(path=Path(cast("str | PathLike[str]", value)))
    if isinstance(value, (bytes, bytearray)):
        return FileBytes(data=bytes(value))
    if isinstance(value, IOBase) or callable(getattr(value, "read", None)):
        return FileStream(stream=value)
    if isinstance(value, dict):
        return _source_adapter.validate_python(value)
    raise ValueError(f"{type(value).__name__} is not a file; pass a path, bytes, an open file or an http(s) URL")


FileSourceInput = Annotated[Any, BeforeValidator(_as_file_source)]
"""A source, or a value that can be converted to one: a path, bytes, an open file or an http(s) URL."""
