"""An index's vectors in its file, and back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crewgraph.vectors.index_file import Header, IndexReader, reading, written
from crewgraph.vectors.lists import Lists
from crewgraph.vectors.parts import Parts

__all__ = ["load", "save"]


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
