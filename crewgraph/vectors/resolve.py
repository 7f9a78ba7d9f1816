"""Anything that users give as `embedder`, as one with a name."""

from functools import cache

from crewgraph.vectors.embedder import NamedEmbedder
from crewgraph.vectors.local import LocalEmbeddings

__all__ = ["embedder_of"]


def embedder_of(given: object = None) -> NamedEmbedder:
    """The embedder in what a user gave.

    Args:
        given: None is the local one: no text leaves the machine unless it is said so.
    """
    if given is None:
        return _local()
    raise NotImplementedError(f"an embedder from {given!r}")


@cache
def _local() -> NamedEmbedder:
    embeddings = LocalEmbeddings()
    return NamedEmbedder(embeddings, embeddings.name)
