"""What programs subclass for an embedder of their own."""

import functools
import inspect
from typing import Any, Protocol, TypeVar, runtime_checkable

from crewgraph_compat.stand_ins.embedding_values import (
    maybe_cast_one_to_many,
    normalize_embeddings,
    validate_embeddings,
)

__all__ = ["CustomEmbeddingFunction", "EmbeddingFunction"]

D = TypeVar("D", contravariant=True)


def _in_arrays(function: Any) -> Any:
    @functools.wraps(function)
    def embed(self: Any, input: Any) -> Any:
        found = maybe_cast_one_to_many(function(self, input))
        return validate_embeddings(normalize_embeddings(found))

    return embed


@runtime_checkable
class EmbeddingFunction(Protocol[D]):
    """A function of a list of texts that gives a vector for each: lists of numbers, or numpy arrays.

    Whatever of these a subclass gives, its callers get arrays of `float32`.
    """

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
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
