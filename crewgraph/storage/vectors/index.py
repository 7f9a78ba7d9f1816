"""Nearest-neighbour search with faiss, which is used in this module only: every query is compared with all vectors.

Of faiss's index types IVF, here with one list, removes vectors at once. Searches and writes run on the calling thread: more
threads cost more than they gain.
"""

import atexit
import os
import struct
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from threading import Lock, RLock
from typing import Any, BinaryIO, TypeAlias
from weakref import WeakSet

import faiss
import numpy as np

# `np.unique` would import it on first use, and a process forked meanwhile would hang.
import numpy.ma  # pyright: ignore[reportUnusedImport]
from numpy.typing import ArrayLike, NDArray

from crewgraph.core.loops.threads import uninterrupted
from crewgraph.disk import PRIVATE, replace_file
from crewgraph.errors import StorageError, TornIndex, VectorInvalid
from crewgraph.formats import STORE_FORMAT, check_format

Ids: TypeAlias = NDArray[np.int64]
"""Ids of vectors, each at least 0; shape (n,)."""

Vectors: TypeAlias = NDArray[np.float32]
"""Normalized rows, shape (n, dims), or one of them, shape (dims,)."""

Scores: TypeAlias = NDArray[np.float32]
"""Cosine similarities, from -1 to 1; shape (n,)."""


_faiss: Any = faiss  # much of it is put together while it is imported, and its types do not say so

_PATIENCE = 5.0  # seconds, for a thread to come out of faiss
_LARGEST_BITMAP = 1 << 28  # the greatest id of which sets of ids are held as bits

_MAGIC = b"crewgraph vectors\n"
_END = struct.Struct("<18sHIqQ")  # magic, format, dims, generation, size of what faiss wrote before it
_CHECKSUM = struct.Struct("<I")
_CHUNK = 1 << 20  # bytes


class GrowingIndex:
    """Vectors by id, compared by cosine; any thread may write or search, one at a time.

    Ids are integers from 0. Vectors need not be normalized. A zero vector has the score 0; NaN and infinity are rejected. A
    forked process gets a copy that it can use independently.

    Args:
        dims: the dimensions of its vectors.
    """

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self.lock = RLock()
        """Held by searches and writes, and by forks: also the locks of BLAS are open then."""

        self._index = _empty(dims)
        with _adding:
            _guarded.add(self)

    @uninterrupted
    def __len__(self) -> int:
        with self.lock:
            return self._index.ntotal

    @property
    def ids(self) -> Ids:
        """All ids, in ascending order."""
        with self.lock:
            return np.sort(_all_ids(self._index))

    @uninterrupted
    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add or replace vectors: ids int64 of shape (n,), vectors float32 of shape (n, dims).

        Raises:
            VectorInvalid: ids or vectors of another shape; nothing is added.
        """
        new, rows = _normalized_vectors(_as_ids(ids), vectors, self.dims)
        with self.lock, _one_thread():
            self._remove(new)
            if len(new):
                self._index.add_with_ids(rows, new)

    @uninterrupted
    def remove(self, ids: ArrayLike) -> int:
        """Remove vectors by id and return how many there were; unknown ids are ignored."""
        removed = _as_ids(ids)
        with self.lock, _one_thread():
            return self._remove(removed)

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
        row = _normalized_rows(np.asarray(query)[None], self.dims)
        among = None if allowed is None else _as_ids(allowed)
        with self.lock, _one_thread():
            k = min(k, self._index.ntotal)
            if k <= 0 or (among is not None and not len(among)):
                return np.empty(0, np.int64), np.empty(0, np.float32)
            selector = None if among is None else _selector(among)
            parameters = _faiss.SearchParametersIVF(sel=selector, nprobe=self._index.nlist)
            scores, ids = self._index.search(row, k, params=parameters)
        found = ids[0] >= 0
        ids, scores = ids[0][found], scores[0][found]
        order = np.lexsort((ids, -scores))  # ties are ordered by id
        return ids[order], scores[order]

    @uninterrupted
    def save(self, path: str | PathLike[str], *, generation: int = 0) -> None:
        """Write the index to a file, replacing an existing one.

        Args:
            path: the file.
            generation: a number of the caller's that `load` returns, such as the state that the index is up to date with.

        Raises:
            StorageError: it cannot be written; the old file is unchanged.
        """
        with self.lock:
            try:
                replace_file(Path(path), lambda file: self._write(file, generation), mode=PRIVATE)
            except OSError as error:
                raise StorageError(f"the vector index `{path}` cannot be written: {error}") from error

    @uninterrupted
    def load(self, path: str | PathLike[str]) -> int:
        """Replace the index by a saved one and return its generation.

        Raises:
            FileNotFoundError: the file does not exist.
            OtherFormat: it was written by a version of crewgraph with another format; the index is unchanged.
            TornIndex: it is truncated, damaged, of another kind, or of other dimensions; the index is unchanged.
            StorageError: it cannot be read.
        """
        try:
            with Path(path).open("rb") as file:
                index, generation = _read_index(file, self.dims)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StorageError(f"the vector index `{path}` cannot be read: {error}") from error
        except _Torn as error:
            raise TornIndex(
                f"`{path}` is not an intact vector index: {error}. Delete it; it is rebuilt from the vectors."
            ) from error
        with self.lock:
            self._index = index
        return generation

    def _remove(self, ids: Ids) -> int:
        return self._index.remove_ids(_faiss.IDSelectorArray(len(ids), _faiss.swig_ptr(ids))) if len(ids) else 0

    def _write(self, file: BinaryIO, generation: int) -> None:
        checksum = 0

        def write(data: bytes | memoryview) -> None:
            nonlocal checksum
            checksum = zlib.crc32(data, checksum)
            file.write(data)

        # Not by a callback: a daemon thread that Python ends inside of one, as the process exits, aborts the process.
        written = _faiss.VectorIOWriter()
        _faiss.write_index(self._index, written)
        data = memoryview(_faiss.rev_swig_ptr(written.data.data(), written.data.size()))
        for start in range(0, len(data), _CHUNK):
            write(data[start : start + _CHUNK])
        write(_END.pack(_MAGIC, STORE_FORMAT, self.dims, generation, file.tell()))
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


def _empty(dims: int) -> Any:
    quantizer = _faiss.IndexFlatIP(dims)
    quantizer.add(np.zeros((1, dims), np.float32))
    index = _faiss.IndexIVFFlat(quantizer, dims, 1, _faiss.METRIC_INNER_PRODUCT)
    index.set_direct_map_type(_faiss.DirectMap.Hashtable)
    index.is_trained = True
    return index


def _all_ids(index: Any) -> Ids:
    sizes = [(number, index.invlists.list_size(number)) for number in range(index.nlist)]
    lists = [_faiss.rev_swig_ptr(index.invlists.get_ids(number), size) for number, size in sizes if size]
    return np.concatenate([np.empty(0, np.int64), *lists])


def _selector(allowed: Ids) -> Any:
    top = int(allowed.max())
    if top >= min(_LARGEST_BITMAP, 1024 * len(allowed)):
        return _faiss.IDSelectorBatch(len(allowed), _faiss.swig_ptr(allowed))
    mask = np.zeros(top + 1, np.bool_)
    mask[allowed] = True
    return _faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))


class _Torn(Exception):
    """What is wrong with a file."""


def _read_index(file: BinaryIO, dims: int) -> tuple[Any, int]:
    size = os.fstat(file.fileno()).st_size - _END.size - _CHECKSUM.size
    file.seek(max(size, 0))
    end = file.read()
    if size < 0 or not end.startswith(_MAGIC):
        raise _Torn("it is truncated, has trailing data, or is of another kind")
    _, form, found_dims, generation, length = _END.unpack(end[: _END.size])
    if length != size or _checksum(file, size + _END.size) != _CHECKSUM.unpack(end[_END.size :])[0]:
        raise _Torn("its checksum is wrong")
    check_format(
        form, f"The vector index `{file.name}`", "Delete the file; it is rebuilt from the vectors.", STORE_FORMAT
    )
    if found_dims != dims:
        raise _Torn(f"its vectors have {found_dims} dimensions, not {dims}")
    try:
        return _faiss.deserialize_index(np.memmap(file, np.uint8, "r", shape=(length,))), generation
    except RuntimeError as error:
        raise _Torn(f"this version of faiss cannot read it ({error})") from error


def _checksum(file: BinaryIO, size: int) -> int:
    checksum = 0
    file.seek(0)
    while size and (data := file.read(min(size, _CHUNK))):
        checksum, size = zlib.crc32(data, checksum), size - len(data)
    return checksum


def _as_ids(values: ArrayLike) -> Ids:
    """Convert ids to one array.

    Raises:
        VectorInvalid: they are not integers, not one-dimensional, or below 0.
    """
    ids: NDArray[Any] = np.asarray(values)
    if ids.size == 0:
        return np.empty(0, np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise VectorInvalid(f"ids must be one-dimensional integers, not {ids.dtype} of shape {ids.shape}")
    ids = np.ascontiguousarray(ids, np.int64)
    if ids.min() < 0:
        raise VectorInvalid(f"the id {ids.min()} is negative; ids start at 0")
    return ids


def _normalized_rows(vectors: ArrayLike, dims: int) -> Vectors:
    """Normalize vectors to length 1; a zero vector is left as it is.

    Raises:
        VectorInvalid: they have other dimensions, or contain NaN or infinity.
    """
    rows: NDArray[Any] = np.asarray(vectors, np.float32)
    if rows.ndim != 2 or rows.shape[1] != dims:
        raise VectorInvalid(f"vectors must have the shape (n, {dims}), not {rows.shape}")
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if not np.isfinite(lengths).all():
        bad = int(np.flatnonzero(~np.isfinite(lengths))[0])
        raise VectorInvalid(f"vector {bad} of {len(rows)} contains NaN or infinity; its embedder is at fault")
    lengths[lengths == 0] = 1
    return np.ascontiguousarray(rows / lengths[:, None], np.float32)


def _normalized_vectors(ids: Ids, vectors: ArrayLike, dims: int) -> tuple[Ids, Vectors]:
    """Normalize one vector for each id; the last one wins for a repeated id.

    Raises:
        VectorInvalid: as `_normalized_rows`, or the numbers of ids and vectors differ.
    """
    if len(ids) == 0:
        return ids, np.empty((0, dims), np.float32)
    rows = _normalized_rows(vectors, dims)
    if len(rows) != len(ids):
        raise VectorInvalid(f"there are {len(ids)} ids and {len(rows)} vectors")
    if len(ids) == 1:
        return ids, rows
    _, last = np.unique(ids[::-1], return_index=True)
    if len(last) == len(ids):
        return ids, rows
    last_positions = np.sort(len(ids) - 1 - last)
    return ids[last_positions], rows[last_positions]


_adding = Lock()
_guarded: "WeakSet[GrowingIndex]" = WeakSet()
_held: "list[GrowingIndex]" = []


def _hold() -> None:
    """Let a fork wait for the indexes: locks that other threads held would never be released in the forked process."""
    _adding.acquire()
    for index in list(_guarded):
        index.lock.acquire()
        _held.append(index)


def _release() -> None:
    while _held:
        _held.pop().lock.release()
    _adding.release()


@atexit.register
def _keep_threads_out() -> None:
    """Let no other thread be inside faiss when the process ends: Python would end it there, and that aborts the process."""
    for index in list(_guarded):
        index.lock.acquire(timeout=_PATIENCE)


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)
