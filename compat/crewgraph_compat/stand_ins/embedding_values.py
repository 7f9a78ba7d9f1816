"""What embedding functions take and give, and how it is brought into one form: a list of arrays of numbers."""

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Documents",
    "Embeddable",
    "Embedding",
    "Embeddings",
    "Images",
    "PyEmbedding",
    "PyEmbeddings",
    "maybe_cast_one_to_many",
    "normalize_embeddings",
    "validate_embeddings",
]

T = TypeVar("T")

Documents = list[str]
Images = list[NDArray[np.generic]]
Embeddable = Documents | Images
Embedding = NDArray[np.int32 | np.float32]
"""A vector."""

Embeddings = list[Embedding]
PyEmbedding = Sequence[float] | Sequence[int]
PyEmbeddings = list[PyEmbedding]

_NUMBERS = (np.integer, np.floating)


def maybe_cast_one_to_many(target: T | list[T] | None) -> list[T] | None:
    """One thing as a list of it; a list and None stay what they are."""
    if target is None or isinstance(target, list):
        return cast("list[T] | None", target)
    return [target]


def normalize_embeddings(target: Any) -> Embeddings:
    """Vectors, or one of them, in any form: lists of numbers, arrays of one or two dimensions, lists of arrays.

    Returns:
        An array of `float32` for each.

    Raises:
        ValueError: it is none of these.
        IndexError: it is empty.
    """
    if isinstance(target, np.ndarray):
        if target.ndim not in (1, 2):
            raise ValueError(f"embeddings as one array have one or two dimensions, and this one has {target.ndim}.")
        rows: list[Any] = [target] if target.ndim == 1 else [*target]
        return [np.array(row, np.float32) for row in rows]
    first = target[0]
    if isinstance(first, (int, float, *_NUMBERS)) and not isinstance(first, bool):
        return [np.array(target, np.float32)]
    if isinstance(first, (list, tuple, np.ndarray)):
        return [np.array(row, np.float32) for row in target]
    raise ValueError(f"embeddings are lists of numbers, or arrays, and not a list of `{type(first).__name__}`.")


def validate_embeddings(embeddings: Embeddings) -> Embeddings:
    """The same vectors, each looked at.

    Raises:
        ValueError: they are no list of arrays of numbers; it says which of them is none.
    """
    given: Any = embeddings
    if not isinstance(given, list):
        raise ValueError(f"embeddings are a list, not a `{type(given).__name__}`.")
    rows = cast("list[Any]", given)
    if not rows:
        raise ValueError("embeddings are a list of at least one, and this one is empty.")
    for at, row in enumerate(rows):
        if not isinstance(row, np.ndarray):
            raise ValueError(f"embedding {at} is a `{type(row).__name__}`, and not a numpy array.")
        if row.ndim != 1 or row.size == 0:
            raise ValueError(
                f"embedding {at} has the shape {row.shape}, and not one dimension with at least one number."
            )
        if not issubclass(row.dtype.type, _NUMBERS):
            raise ValueError(f"embedding {at} holds `{row.dtype}`, and not numbers.")
    return embeddings
