"""The file format of a vector index: a header, arrays, a checksum. Files are replaced and read as a whole, or not at all."""

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

from crewgraph.disk import PRIVATE, replace_file
from crewgraph.errors import StorageError, TornIndex
from crewgraph.formats import FORMAT, check_format
from crewgraph.storage.vectors.lists import IndexParts, InvertedLists

__all__ = ["IndexHeader", "IndexReader", "load_index", "open_index_file", "save_index", "write_index_file"]


_MAGIC = b"crewgraph vectors\n"
_HEADER = struct.Struct("<18sHIqQQQQ")  # magic, format, dims, generation, flat, lists, listed, probes
_CHECKSUM = struct.Struct("<I")

_N = TypeVar("_N", bound=np.generic)


@dataclass(frozen=True, kw_only=True)
class IndexHeader:
    """The header of the file."""

    dims: int
    generation: int = 0
    """A number of the writer's choice, from -2**63."""

    flat: int = 0
    """Vectors in the flat block."""

    lists: int = 0
    """The number of lists; each has a centre."""

    listed: int = 0
    """Vectors in all lists."""

    probes: int = 0
    """The number of lists that a search probes."""

    @property
    def size(self) -> int:
        """Size of the whole file in bytes."""
        vector = 4 * self.dims
        body = (self.flat + self.listed) * (8 + vector) + self.lists * (8 + vector)
        return _HEADER.size + _CHECKSUM.size + body + _CHECKSUM.size

    def pack(self) -> bytes:
        """Encode the header, with its own checksum."""
        head = _HEADER.pack(_MAGIC, FORMAT, self.dims, self.generation, self.flat, self.lists, self.listed, self.probes)
        return head + _CHECKSUM.pack(zlib.crc32(head))


def write_index_file(path: Path, header: IndexHeader, arrays: Iterable[NDArray[Any]]) -> None:
    """Replace a file; after a crash it is either the old or the new one.

    Raises:
        StorageError: it cannot be written; the old file is unchanged.
    """
    try:
        replace_file(path, _parts(header, arrays), mode=PRIVATE)
    except OSError as error:
        raise StorageError(f"the vector index `{path}` cannot be written: {error}") from error


def _parts(header: IndexHeader, arrays: Iterable[NDArray[Any]]) -> Iterator[bytes | memoryview]:
    yield header.pack()
    checksum = 0
    for array in arrays:
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        yield data
        checksum = zlib.crc32(data, checksum)
    yield _CHECKSUM.pack(checksum)


class IndexReader:
    """Reads a file's arrays in the order in which they were written."""

    def __init__(self, path: Path, file: BinaryIO, header: IndexHeader) -> None:
        self.header = header
        self._path, self._file = path, file
        self._checksum = 0

    def take(self, shape: tuple[int, ...], kind: type[_N]) -> NDArray[_N]:
        """Read the next array.

        Raises:
            TornIndex: the file ends early.
        """
        array = np.empty(shape, kind)
        data = array.reshape(-1).view(np.uint8).data
        if self._file.readinto(data) != len(data):  # pyright: ignore[reportAttributeAccessIssue]
            raise self.error("it is truncated")
        self._checksum = zlib.crc32(data, self._checksum)
        return array

    def end(self) -> None:
        """Verify the checksum of everything read.

        Raises:
            TornIndex: it is wrong.
        """
        if self._file.read() != _CHECKSUM.pack(self._checksum):
            raise self.error("its checksum is wrong")

    def error(self, problem: str) -> TornIndex:
        """The error for a problem with the file."""
        return _torn(self._path, problem)


@contextmanager
def open_index_file(path: Path, dims: int) -> Generator[IndexReader]:
    """Open a file of vectors with these dimensions; do not use the arrays before `end` has succeeded.

    Raises:
        OtherFormat: it was written by a version of crewgraph with another format.
        TornIndex: it is truncated, of another kind, or of other dimensions.
        StorageError: it cannot be read; a `FileNotFoundError` is raised as it is.
    """
    try:
        with path.open("rb") as file:
            header = _header(path, file.read(_HEADER.size + _CHECKSUM.size))
            if header.dims != dims:
                raise _torn(path, f"its vectors have {header.dims} dimensions, not {dims}")
            if os.fstat(file.fileno()).st_size != header.size:
                raise _torn(path, "it is truncated, or has trailing data")
            yield IndexReader(path, file, header)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"the vector index `{path}` cannot be read: {error}") from error


def _header(path: Path, data: bytes) -> IndexHeader:
    if len(data) != _HEADER.size + _CHECKSUM.size or not data.startswith(_MAGIC):
        raise _torn(path, "it is of another kind")
    if zlib.crc32(data[: _HEADER.size]) != _CHECKSUM.unpack(data[_HEADER.size :])[0]:
        raise _torn(path, "its header is damaged")
    _, form, dims, generation, flat, lists, listed, probes = _HEADER.unpack(data[: _HEADER.size])
    check_format(form, f"The vector index `{path}`", "Delete the file; it is rebuilt from the vectors.")
    return IndexHeader(dims=dims, generation=generation, flat=flat, lists=lists, listed=listed, probes=probes)


def _torn(path: Path, problem: str) -> TornIndex:
    return TornIndex(f"`{path}` is not an intact vector index: {problem}. Delete it; it is rebuilt from the vectors.")


def save_index(path: Path, parts: IndexParts, generation: int) -> None:
    """Write vectors to a file; they must not change meanwhile.

    Vectors of lists that are being replaced are saved as part of the flat block.

    Raises:
        StorageError: it cannot be written.
    """
    lists, old = parts.lists, parts.old
    header = IndexHeader(
        dims=parts.dims,
        generation=generation,
        flat=len(parts.flat) + (0 if old is None else len(old)),
        lists=0 if lists is None else len(lists.centres),
        listed=0 if lists is None else len(lists),
        probes=0 if lists is None else lists.probes,
    )
    write_index_file(path, header, _arrays(parts))


def _arrays(parts: IndexParts) -> Iterator[NDArray[Any]]:
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


def load_index(path: Path, parts: IndexParts) -> int:
    """Fill empty parts from a file and return its generation.

    Raises:
        FileNotFoundError: the file does not exist.
        TornIndex: it is damaged; discard the parts.
        StorageError: it cannot be read.
    """
    with open_index_file(path, parts.dims) as file:
        head = file.header
        ids, rows = file.take((head.flat,), np.int64), file.take((head.flat, head.dims), np.float32)
        lists = _lists(file) if head.lists else None
        file.end()
    parts.flat.add(ids, rows)
    if lists is not None:
        lists.finish_filling()
    parts.lists = lists
    return head.generation


def _lists(file: IndexReader) -> InvertedLists:
    head = file.header
    lists = InvertedLists(file.take((head.lists, head.dims), np.float32), head.probes)
    sizes = file.take((head.lists,), np.int64)
    if sizes.min() < 0 or sizes.sum() != head.listed:
        raise file.error("the sizes of its lists are wrong")
    for number, size in enumerate(sizes.tolist()):
        ids = file.take((size,), np.int64)
        lists.fill(number, ids, file.take((size, head.dims), np.float32))
    return lists
