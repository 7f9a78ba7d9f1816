"""What CrewAI's programs subclass for an embedder of their own."""

from typing import Any, Protocol, TypeVar

__all__ = ["EmbeddingFunction"]

D = TypeVar("D", contravariant=True)


class EmbeddingFunction(Protocol[D]):
    """A function of a list of texts that gives a vector for each: lists of numbers, or numpy arrays."""

    def __call__(self, input: D) -> Any: ...

    def embed_query(self, input: D) -> Any:
        """The vectors of queries; the same as those of texts, if it is not overridden."""
        return self(input)
