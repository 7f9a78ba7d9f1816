"""Embedders: the class that programs subclass, the vectors that it returns, and embedders by their description."""

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from crewgraph.outdated import tell_outdated
from crewgraph.vectors.resolve import embedder_of

__all__ = [
    "CustomEmbeddingFunction",
    "Documents",
    "Embeddable",
    "Embedding",
    "EmbeddingConfigurator",
    "EmbeddingFunction",
    "Embeddings",
    "Images",
    "PyEmbedding",
    "PyEmbeddings",
    "build_embedder",
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
    value: Any = embeddings
    if not isinstance(value, list):
        raise ValueError(f"embeddings are a list, not a `{type(value).__name__}`.")
    rows = cast("list[Any]", value)
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


D = TypeVar("D", contravariant=True)


def _in_arrays(function: Any) -> Any:
    @functools.wraps(function)
    def embed(self: Any, input: Any) -> Any:
        result = maybe_cast_one_to_many(function(self, input))
        return validate_embeddings(normalize_embeddings(result))

    return embed


@runtime_checkable
class EmbeddingFunction(Protocol[D]):
    """A function of a list of texts that gives a vector for each: lists of numbers, or numpy arrays.

    Whatever of these a subclass gives, its callers get arrays of `float32`.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__call__")
        if own is not None and not inspect.iscoroutinefunction(own):
            cls.__call__ = _in_arrays(own)

    def __call__(self, input: D) -> Any: ...

    def embed_query(self, input: D) -> Any:
        """The vectors of queries; the same as those of texts, if it is not overridden."""
        return self(input)


class CustomEmbeddingFunction(EmbeddingFunction[list[str]]):
    """The same, for `{"provider": "custom", "config": {"embedding_callable": ...}}`."""

    def __call__(self, input: list[str]) -> Any:
        raise NotImplementedError(
            f"`{type(self).__name__}` says not how it embeds: give it `__call__(self, input)`, which takes a list of texts."
        )


_KEYS = ("provider", "config")


def build_embedder(spec: object) -> Any:
    """The embedder that is described, in any form that `embedder=` takes; what it embeds is asked of it by calling it.

    A `config` may also stand beside the `provider`, as older tools hand it on. Of a custom provider it is an object of the
    class that was given.

    Raises:
        EmbedderError: it describes none.
        MissingExtra: its provider's package is not installed.
    """
    if not isinstance(spec, Mapping) or "provider" not in spec:
        return embedder_of(cast("object", spec))
    said = cast("Mapping[str, Any]", spec)
    beside = {key: value for key, value in said.items() if key not in _KEYS}
    config: dict[str, Any] = {**(said.get("config") or {}), **beside}
    return _built(str(said["provider"]), config)


def _built(provider: str, config: dict[str, Any]) -> Any:
    own = config.get("embedding_callable")
    if provider == "custom" and isinstance(own, type):
        return own(**{key: value for key, value in config.items() if key != "embedding_callable"})
    return embedder_of({"provider": provider, "config": config})


class EmbeddingConfigurator:
    """Makes embedders of their descriptions; nowadays `build_embedder` does."""

    def configure_embedder(self, embedder_config: Any = None) -> Any:
        """The embedder that is described; the local one where nothing is.

        Raises:
            EmbedderError: it describes none.
            MissingExtra: its provider's package is not installed.
        """
        tell_outdated(
            "`EmbeddingConfigurator` is gone",
            "import `build_embedder` from `crewai.rag.embeddings.factory`",
            by_hand=True,
        )
        return build_embedder(embedder_config or None)
