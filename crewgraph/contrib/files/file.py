"""File classes that users pass to runs, tasks and agents, and normalization of `input_files`."""

import asyncio
import mimetypes
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from io import IOBase
from os import PathLike
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, Self, cast

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


class FileProcessingError(CrewgraphError):
    """A file cannot be used."""


class FileValidationError(FileProcessingError):
    """A file is not valid as input."""


class FileTooLargeError(FileValidationError):
    """A file exceeds its maximum size."""


class UnsupportedFileTypeError(FileValidationError):
    """A file has an unsupported content type."""


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
    """Base class of sources that can be read."""

    @abstractmethod
    def read(self) -> bytes:
        """Return the contents."""

    async def aread(self) -> bytes:
        """Async version of `read`, run in a thread."""
        return await asyncio.to_thread(self.read)


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
                f"`{self.path}` has {size} bytes, more than the {self.max_size_bytes} of `max_size_bytes`"
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
                raise FileProcessingError(f"the stream returns {type(data).__name__}, not bytes; open it with `rb`")
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
            f"`{self.url}` is not fetched: only model providers fetch URLs. Download the file, and pass its bytes."
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
