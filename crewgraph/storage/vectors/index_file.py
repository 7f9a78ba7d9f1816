"""The file of a vector index: a header, arrays, a checksum. It is replaced whole, and read whole or not at all.

An index's vectors in its file, and back.
"""

import os
import struct
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from crewgraph.errors import StorageError, TornIndex
from crewgraph.storage.vectors.lists import Lists, Parts

__all__ = ["Header", "IndexReader", "load", "reading", "save", "written"]


_MAGIC = b"crewgraph vectors 1\n"
_HEADER = struct.Struct("<20sIqQQQQ")  # magic, dims, generation, flat, lists, listed, probes
_CHECKSUM = struct.Struct("<I")

_N = TypeVar("_N", bound=np.generic)


@dataclass(frozen=True, kw_only=True)
class Header:
    """What is in the file, and for whom."""

    dims: int
    generation: int = 0
    """Whatever its writer wants to know it by, from -2**63 on."""

    flat: int = 0
    """Vectors that stand in one block."""

    lists: int = 0
    """Lists of vectors; each has a centre."""

    listed: int = 0
    """Vectors in all lists."""

    probes: int = 0
    """How many lists a search looks into."""

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        vector = 4 * self.dims
        body = (self.flat + self.listed) * (8 + vector) + self.lists * (8 + vector)
        return _HEADER.size + _CHECKSUM.size + body + _CHECKSUM.size

    def packed(self) -> bytes:
        """As it stands at the file's beginning, with a checksum of its own."""
        head = _HEADER.pack(_MAGIC, self.dims, self.generation, self.flat, self.lists, self.listed, self.probes)
        return head + _CHECKSUM.pack(zlib.crc32(head))


def written(path: Path, header: Header, arrays: Iterable[NDArray[Any]]) -> None:
    """Put a file in the place of what is there; after a crash there is the old one or the new one. For one writer.

    Raises:
        StorageError: it cannot be written; the old file is as it was.
    """
    fresh = path.with_name(f"{path.name}.new")
    try:
        with _private(fresh) as file:
            file.write(header.packed())
            checksum = 0
            for array in arrays:
                data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
                file.write(data)
                checksum = zlib.crc32(data, checksum)
            file.write(_CHECKSUM.pack(checksum))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise StorageError(f"the vector index `{path}` cannot be written: {error}") from error


def _private(path: Path) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


class IndexReader:
    """Reads a file's arrays in the order in which they were written."""

    def __init__(self, path: Path, file: BinaryIO, header: Header) -> None:
        self.header = header
        self._path, self._file = path, file
        self._checksum = 0

    def take(self, shape: tuple[int, ...], kind: type[_N]) -> NDArray[_N]:
        """The next array.

        Raises:
            TornIndex: the file ends before.
        """
        array = np.empty(shape, kind)
        data = array.reshape(-1).view(np.uint8).data
        if self._file.readinto(data) != len(data):  # pyright: ignore[reportAttributeAccessIssue]
            raise self.torn("it is cut off")
        self._checksum = zlib.crc32(data, self._checksum)
        return array

    def end(self) -> None:
        """See whether all that was taken is what was written.

        Raises:
            TornIndex: it is not.
        """
        if self._file.read() != _CHECKSUM.pack(self._checksum):
            raise self.torn("its checksum is wrong")

    def torn(self, what: str) -> TornIndex:
        """An error that says what is wrong with the file."""
        return _torn(self._path, what)


@contextmanager
def reading(path: Path, dims: int) -> Generator[IndexReader]:
    """A file of vectors of so many dimensions; nothing that was taken may be used before `end` has passed.

    Raises:
        TornIndex: it is cut off, of another kind, or for other vectors.
        StorageError: it cannot be read; a `FileNotFoundError` is raised as it is.
    """
    try:
        with path.open("rb") as file:
            header = _header(path, file.read(_HEADER.size + _CHECKSUM.size))
            if header.dims != dims:
                raise _torn(path, f"its vectors have {header.dims} dimensions, not {dims}")
            if os.fstat(file.fileno()).st_size != header.size:
                raise _torn(path, "it is cut off, or something was written behind it")
            yield IndexReader(path, file, header)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"the vector index `{path}` cannot be read: {error}") from error


def _header(path: Path, data: bytes) -> Header:
    if len(data) != _HEADER.size + _CHECKSUM.size or not data.startswith(_MAGIC):
        raise _torn(path, "it does not begin as one")
    if zlib.crc32(data[: _HEADER.size]) != _CHECKSUM.unpack(data[_HEADER.size :])[0]:
        raise _torn(path, "its header is damaged")
    _, dims, generation, flat, lists, listed, probes = _HEADER.unpack(data[: _HEADER.size])
    return Header(dims=dims, generation=generation, flat=flat, lists=lists, listed=listed, probes=probes)


def _torn(path: Path, what: str) -> TornIndex:
    return TornIndex(f"`{path}` is no whole vector index: {what}. Delete it; it is made anew from the vectors.")


def save(path: Path, parts: Parts, generation: int) -> None:
    """Write vectors to a file; nothing may change them meanwhile.

    Lists that are being given up are written as if their vectors waited to be moved.

    Raises:
        StorageError: it cannot be written.
    """
    lists, old = parts.lists, parts.old
    header = Header(
        dims=parts.dims,
        generation=generation,
        flat=len(parts.flat) + (0 if old is None else len(old)),
        lists=0 if lists is None else len(lists.centres),
        listed=0 if lists is None else len(lists),
        probes=0 if lists is None else lists.probes,
    )
    written(path, header, _arrays(parts))


def _arrays(parts: Parts) -> Iterator[NDArray[Any]]:
    yield parts.flat.ids
    if parts.old is not None:
        yield parts.old.ids
    yield parts.flat.rows
    if parts.old is not None:
        yield from (rows for _, rows in parts.old)
    if parts.lists is not None:
        yield parts.lists.centres
        yield parts.lists.sizes
        for ids, rows in parts.lists:
            yield ids
            yield rows


def load(path: Path, parts: Parts) -> int:
    """Fill empty parts from a file; its generation.

    Raises:
        FileNotFoundError: there is none.
        TornIndex: it is not whole; what was filled is not to be used.
        StorageError: it cannot be read.
    """
    with reading(path, parts.dims) as file:
        head = file.header
        ids, rows = file.take((head.flat,), np.int64), file.take((head.flat, head.dims), np.float32)
        lists = _lists(file) if head.lists else None
        file.end()
    parts.flat.add(ids, rows)
    if lists is not None:
        lists.filled()
    parts.lists = lists
    return head.generation


def _lists(file: IndexReader) -> Lists:
    head = file.header
    lists = Lists(file.take((head.lists, head.dims), np.float32), head.probes)
    sizes = file.take((head.lists,), np.int64)
    if sizes.min() < 0 or sizes.sum() != head.listed:
        raise file.torn("its lists have other sizes than they should")
    for number, size in enumerate(sizes.tolist()):
        ids = file.take((size,), np.int64)
        lists.fill(number, ids, file.take((size, head.dims), np.float32))
    return lists
