"""Embedding functions: the base class for custom ones, those of providers, and the format of their vectors."""

import functools
import inspect
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from crewgraph.extras import load
from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.providers import embedding_provider
from crewgraph.storage.vectors.resolve import embedder_of

__all__ = [
    "ChromaFunction",
    "CustomEmbeddingFunction",
    "Documents",
    "Embeddable",
    "Embedding",
    "EmbeddingFunction",
    "Embeddings",
    "GoogleGenAIVertexEmbeddingFunction",
    "Images",
    "ProvidedFunction",
    "PyEmbedding",
    "PyEmbeddings",
    "VoyageAIEmbeddingFunction",
    "WatsonXEmbeddingFunction",
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
    """Wrap a single item in a list; lists and None are returned unchanged."""
    if target is None or isinstance(target, list):
        return cast("list[T] | None", target)
    return [target]


def normalize_embeddings(target: Any) -> Embeddings:
    """Convert one or several vectors to arrays; accepts lists of numbers, 1-D or 2-D arrays, and lists of arrays.

    Returns:
        An array of `float32` for each.

    Raises:
        ValueError: The value has another form.
        IndexError: The value is empty.
    """
    if isinstance(target, np.ndarray):
        if target.ndim not in (1, 2):
            raise ValueError(f"an array of embeddings must have one or two dimensions, not {target.ndim}.")
        rows: list[Any] = [target] if target.ndim == 1 else [*target]
        return [np.array(row, np.float32) for row in rows]
    first = target[0]
    if isinstance(first, (int, float, *_NUMBERS)) and not isinstance(first, bool):
        return [np.array(target, np.float32)]
    if isinstance(first, (list, tuple, np.ndarray)):
        return [np.array(row, np.float32) for row in target]
    raise ValueError(f"embeddings must be lists of numbers, or arrays, not a list of `{type(first).__name__}`.")


def validate_embeddings(embeddings: Embeddings) -> Embeddings:
    """Validate vectors and return them unchanged.

    Raises:
        ValueError: An entry is not an array of numbers; the message names it.
    """
    value: Any = embeddings
    if not isinstance(value, list):
        raise ValueError(f"embeddings must be a list, not a `{type(value).__name__}`.")
    rows = cast("list[Any]", value)
    if not rows:
        raise ValueError("the list of embeddings is empty.")
    for at, row in enumerate(rows):
        if not isinstance(row, np.ndarray):
            raise ValueError(f"embedding {at} is a `{type(row).__name__}`, not a numpy array.")
        if row.ndim != 1 or row.size == 0:
            raise ValueError(f"embedding {at} has the shape {row.shape}, not one dimension with at least one number.")
        if not issubclass(row.dtype.type, _NUMBERS):
            raise ValueError(f"embedding {at} contains `{row.dtype}`, not numbers.")
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
    """Maps a list of texts to a vector each, as lists of numbers or numpy arrays.

    Callers receive arrays of `float32`, whichever form a subclass returns.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__call__")
        if own is not None and not inspect.iscoroutinefunction(own):
            cls.__call__ = _in_arrays(own)

    def __call__(self, input: D) -> Any: ...

    def embed_query(self, input: D) -> Any:
        """Return the vectors of queries; by default they are embedded like other texts."""
        return self(input)


class CustomEmbeddingFunction(EmbeddingFunction[list[str]]):
    """A custom function, for `{"provider": "custom", "config": {"embedding_callable": ...}}`."""

    def __call__(self, input: list[str]) -> Any:
        raise NotImplementedError(
            f"`{type(self).__name__}` cannot embed: define `__call__(self, input)`, which takes a list of texts."
        )


class ProvidedFunction:
    """Embed texts with a provider; call it with a list of texts.

    Args:
        config: the provider's settings; None values are taken from the environment.

    Raises:
        EmbedderError: A key is unknown or missing, or the provider is unavailable here.
        MissingExtra: The provider's package is not installed.
    """

    provider: ClassVar[str] = ""
    """The name of the provider."""

    usual: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Settings that the clients used here always apply and have no keys for."""

    def __init__(self, **config: Any) -> None:
        parts = {key: value for key, value in config.items() if value is not None}
        self.embedder: NamedEmbedder = self._embedder(
            {key: value for key, value in parts.items() if key not in self.usual or self.usual[key] != value}
        )

    def _embedder(self, config: dict[str, Any]) -> NamedEmbedder:
        return embedder_of({"provider": self.provider, "config": config})

    def __call__(self, input: list[str] | str) -> list[NDArray[np.float32]]:
        return self.embedder([input] if isinstance(input, str) else input)

    def embed_query(self, input: list[str] | str) -> list[NDArray[np.float32]]:
        """Return the vectors of queries."""
        texts = [input] if isinstance(input, str) else input
        return [np.array(self.embedder.embeddings.embed_query(text), np.float32) for text in texts]

    @classmethod
    def name(cls) -> str:
        """Return the provider's name."""
        return cls.provider


class VoyageAIEmbeddingFunction(ProvidedFunction):
    """Voyage AI's embeddings."""

    provider = "voyageai"
    usual = MappingProxyType({"max_retries": 0})


class WatsonXEmbeddingFunction(ProvidedFunction):
    """IBM watsonx's embeddings."""

    provider = "watsonx"
    usual = MappingProxyType(
        {"batch_size": 100, "concurrency_limit": 10, "persistent_connection": True, "verbose": True}
    )


class GoogleGenAIVertexEmbeddingFunction(ProvidedFunction):
    """Google's embeddings on Vertex AI."""

    provider = "google-vertex"


class ChromaFunction(ProvidedFunction):
    """Embed with a ChromaDB function, if installed, for providers that crewgraph has no client for."""

    chroma: ClassVar[str] = ""
    """The name of the function in ChromaDB."""

    def _embedder(self, config: dict[str, Any]) -> NamedEmbedder:
        if find_spec("chromadb") is None:
            embedding_provider(self.provider)  # raises and names the alternative
        function = getattr(load("chromadb.utils.embedding_functions"), self.chroma)(**config)
        # Named here: looking at it would load its model.
        parts = [str(config[word]) for word in ("model_name", "checkpoint", "instruction") if word in config]
        name = "/".join([self.provider, *parts])
        return embedder_of({"provider": "custom", "config": {"embedding_callable": function, "name": name}})
