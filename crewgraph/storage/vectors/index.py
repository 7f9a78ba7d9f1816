"""Nearest-neighbour search with faiss, which is used in this module only: exact while small, approximate (IVF) when large.

Of faiss's index types IVF can remove vectors; with one list it compares all of them. Searches and writes run on the calling
thread: more threads cost more than they gain.
"""

import os
import struct
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from math import ceil, isqrt
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import faiss
import numpy as np
from numpy.typing import ArrayLike

from crewgraph.disk import PRIVATE, replace_file
from crewgraph.errors import StorageError, TornIndex
from crewgraph.storage.vectors.arrays import (
    Ids,
    Scores,
    Vectors,
    as_ids,
    normalized_query,
    normalized_vectors,
    ordered,
)
from crewgraph.storage.vectors.threads import ForkGuard, uninterrupted

__all__ = ["GrowingIndex"]


_faiss: Any = faiss  # much of it is put together while it is imported, and its types do not say so

_MAX_LISTS = 128
_SEARCHED_SHARE = 0.5  # of the lists: a quarter found 80 % of the nearest where vectors hardly form clusters
_GROWTH_FACTOR = 4  # times as many vectors get new lists
_SAMPLES_PER_LIST = 64
_LARGEST_BITMAP = 1 << 28  # the greatest id of which sets of ids are held as bits

_MAGIC = b"crewgraph vectors 2\n"
_END = struct.Struct("<20sIqQ")  # magic, dims, generation, size of what faiss wrote before it
_CHECKSUM = struct.Struct("<I")
_CHUNK = 1 << 20  # bytes


class GrowingIndex:
    """Vectors by id, compared by cosine; any thread may write or search, one at a time.

    All vectors are compared while they are few. Later, half of the lists around their centres are searched: 92 to 95 % of the
    ten nearest are found where vectors hardly form clusters, nearly all where they do. A write that makes the index four times
    as large makes new lists, and takes longer.

    Ids are integers from 0. Vectors need not be normalized. A zero vector has the score 0; NaN and infinity are rejected. A
    forked process gets a copy that it can use independently.

    Args:
        dims: the dimensions of its vectors.
        exact_up_to: up to so many vectors are compared with every query.
    """

    def __init__(self, dims: int, *, exact_up_to: int = 5_000) -> None:
        self.dims = dims
        self._exact_up_to = exact_up_to
        self._lock = Lock()
        self._fork_guard = ForkGuard(self._lock)  # a forked process would find it, and the locks of BLAS, closed
        self._index = _empty(dims, 1)
        self._listed = 0  # so many vectors were there when the lists were made

    @property
    def is_exact(self) -> bool:
        """Whether every vector is compared with every query."""
        return self._index.nlist == 1

    @uninterrupted
    def __len__(self) -> int:
        with self._lock:
            return self._index.ntotal

    @property
    def ids(self) -> Ids:
        """All ids, in ascending order."""
        with self._lock:
            return np.sort(_ids(self._index))

    @uninterrupted
    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add or replace vectors: ids int64 of shape (n,), vectors float32 of shape (n, dims).

        Raises:
            VectorInvalid: ids or vectors of another shape; nothing is added.
        """
        new, rows = normalized_vectors(as_ids(ids), vectors, self.dims)
        with self._lock, _one_thread():
            self._remove(new)
            if len(new):
                self._index.add_with_ids(rows, new)
            self._fit_lists()

    @uninterrupted
    def remove(self, ids: ArrayLike) -> int:
        """Remove vectors by id and return how many there were; unknown ids are ignored."""
        removed = as_ids(ids)
        with self._lock, _one_thread():
            count = self._remove(removed)
            self._fit_lists()
        return count

    @uninterrupted
    def search(self, query: ArrayLike, k: int, allowed: ArrayLike | None = None) -> tuple[Ids, Scores]:
        """The ids and scores of the k nearest vectors, nearest first; fewer if there are no more.

        Args:
            query: shape (dims,).
            k: the number of vectors.
            allowed: compares these ids only, all of them; None searches all. Unknown ids are ignored.

        Raises:
            VectorInvalid: the query has another shape.
        """
        row = normalized_query(query, self.dims)
        among = None if allowed is None else as_ids(allowed)
        with self._lock, _one_thread():
            k, lists = min(k, self._index.ntotal), self._index.nlist
            if k <= 0 or (among is not None and not len(among)):
                return np.empty(0, np.int64), np.empty(0, np.float32)
            if among is not None:
                return self._search(row, k, lists, _selector(among))
            found = self._search(row, k, ceil(_SEARCHED_SHARE * lists))
            return found if len(found[0]) == k else self._search(row, k, lists)

    @uninterrupted
    def save(self, path: str | PathLike[str], *, generation: int = 0) -> None:
        """Write the index to a file, replacing an existing one.

        Args:
            path: the file.
            generation: a number of the caller's that `load` returns, such as the state that the index is up to date with.

        Raises:
            StorageError: it cannot be written; the old file is unchanged.
        """
        with self._lock:
            try:
                replace_file(Path(path), lambda file: self._write(file, generation), mode=PRIVATE)
            except OSError as error:
                raise StorageError(f"the vector index `{path}` cannot be written: {error}") from error

    @uninterrupted
    def load(self, path: str | PathLike[str]) -> int:
        """Replace the index by a saved one and return its generation.

        Raises:
            FileNotFoundError: the file does not exist.
            TornIndex: it is truncated, damaged, of another format, or of other dimensions; the index is unchanged.
            StorageError: it cannot be read.
        """
        try:
            with Path(path).open("rb") as file:
                index, generation = _read(file, self.dims)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StorageError(f"the vector index `{path}` cannot be read: {error}") from error
        except _Torn as error:
            raise TornIndex(
                f"`{path}` is not an intact vector index: {error}. Delete it; it is rebuilt from the vectors."
            ) from error
        with self._lock:
            self._index, self._listed = index, index.ntotal
        return generation

    def _remove(self, ids: Ids) -> int:
        return self._index.remove_ids(_faiss.IDSelectorArray(len(ids), _faiss.swig_ptr(ids))) if len(ids) else 0

    def _search(self, row: Vectors, k: int, lists: int, selector: Any = None) -> tuple[Ids, Scores]:
        parameters = _faiss.SearchParametersIVF(sel=selector, nprobe=lists)
        scores, ids = self._index.search(row[None], k, params=parameters)
        found = ids[0] >= 0
        return ordered(ids[0][found], scores[0][found])

    def _fit_lists(self) -> None:
        n = self._index.ntotal
        if n > max(self._exact_up_to, _GROWTH_FACTOR * self._listed):
            self._make_lists(min(_MAX_LISTS, isqrt(n)))
        elif 2 * n < self._exact_up_to and self._index.nlist > 1:
            self._make_lists(1)

    def _make_lists(self, lists: int) -> None:
        old, new = self._index, _empty(self.dims, lists)
        if lists > 1:
            ids = _ids(old)
            sample = np.random.default_rng(0).choice(ids, min(len(ids), _SAMPLES_PER_LIST * lists), replace=False)
            new.train(old.reconstruct_batch(sample))
        for ids, rows in _lists(old):
            new.add_with_ids(rows, ids)
        self._index, self._listed = new, new.ntotal if lists > 1 else 0

    def _write(self, file: BinaryIO, generation: int) -> None:
        checksum = 0

        def write(data: bytes) -> None:
            nonlocal checksum
            checksum = zlib.crc32(data, checksum)
            file.write(data)

        _faiss.write_index(self._index, _faiss.PyCallbackIOWriter(write))
        write(_END.pack(_MAGIC, self.dims, generation, file.tell()))
        file.write(_CHECKSUM.pack(checksum))


@contextmanager
def _one_thread() -> Generator[None]:
    """Limit faiss to one thread; the setting is per thread, and the caller's is restored."""
    before = _faiss.omp_get_max_threads()
    _faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        _faiss.omp_set_num_threads(before)


def _empty(dims: int, lists: int) -> Any:
    quantizer = _faiss.IndexFlatIP(dims)
    index = _faiss.IndexIVFFlat(quantizer, dims, lists, _faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = 1  # it would warn at the terminal
    index.set_direct_map_type(_faiss.DirectMap.Hashtable)
    if lists == 1:
        quantizer.add(np.zeros((1, dims), np.float32))
        index.is_trained = True
    return index


def _lists(index: Any) -> Iterator[tuple[Ids, Vectors]]:
    """Ids and vectors of each list that has some: views that are valid until the next change."""
    for number in range(index.nlist):
        if size := index.invlists.list_size(number):
            codes = _faiss.rev_swig_ptr(index.invlists.get_codes(number), size * index.code_size)
            yield _faiss.rev_swig_ptr(index.invlists.get_ids(number), size), codes.view(np.float32).reshape(size, -1)


def _ids(index: Any) -> Ids:
    return np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in _lists(index))])


def _selector(allowed: Ids) -> Any:
    top = int(allowed.max())
    if top >= min(_LARGEST_BITMAP, 1024 * len(allowed)):
        return _faiss.IDSelectorBatch(len(allowed), _faiss.swig_ptr(allowed))
    mask = np.zeros(top + 1, np.bool_)
    mask[allowed] = True
    return _faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))


class _Torn(Exception):
    """What is wrong with a file."""


def _read(file: BinaryIO, dims: int) -> tuple[Any, int]:
    size = os.fstat(file.fileno()).st_size - _END.size - _CHECKSUM.size
    file.seek(max(size, 0))
    end = file.read()
    if size < 0 or not end.startswith(_MAGIC):
        raise _Torn("it is truncated, has trailing data, or has another format")
    _, found_dims, generation, length = _END.unpack(end[: _END.size])
    if length != size or _checksum(file, size + _END.size) != _CHECKSUM.unpack(end[_END.size :])[0]:
        raise _Torn("its checksum is wrong")
    if found_dims != dims:
        raise _Torn(f"its vectors have {found_dims} dimensions, not {dims}")
    file.seek(0)
    try:
        return _faiss.read_index(_faiss.PyCallbackIOReader(file.read)), generation
    except RuntimeError as error:
        raise _Torn(f"this version of faiss cannot read it ({error})") from error


def _checksum(file: BinaryIO, size: int) -> int:
    checksum = 0
    file.seek(0)
    while size and (data := file.read(min(size, _CHUNK))):
        checksum, size = zlib.crc32(data, checksum), size - len(data)
    return checksum
