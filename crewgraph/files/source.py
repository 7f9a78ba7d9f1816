"""Where a file comes from: a path, bytes, a stream, a URL."""

import asyncio
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

from crewgraph.files.errors import FileProcessingError, FileTooLargeError
from crewgraph.files.kind import BINARY, content_type_of, type_by_name

__all__ = ["FileBytes", "FilePath", "FileSource", "FileStream", "FileUrl", "GivenSource"]

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
