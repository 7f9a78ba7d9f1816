"""Embedders as ChromaDB calls them."""

from typing import Any, cast

from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.resolve import embedder_of
from crewgraph_compat.stand_ins.embedding_function import EmbeddingFunction
from crewgraph_compat.stand_ins.provided_function import ProvidedFunction

__all__ = [
    "ChromaEmbeddings",
    "for_chroma",
]


class ChromaEmbeddings:
    """An embedder behind the verbs that ChromaDB asks for; ChromaDB keeps nothing of it, and is given it each time."""

    def __init__(self, embedder: NamedEmbedder) -> None:
        self.embedder = embedder

    def __call__(self, input: list[str]) -> list[Any]:
        return self.embedder(input)

    def embed_query(self, input: list[str]) -> list[Any]:
        """The vectors of queries."""
        return [self.embedder.embeddings.embed_query(text) for text in input]

    @staticmethod
    def name() -> str:
        """What ChromaDB calls an embedder that it knows nothing of."""
        return "default"

    def is_legacy(self) -> bool:
        """Whether ChromaDB cannot make it anew."""
        return True

    def default_space(self) -> str:
        """How distances are measured where a collection does not say it."""
        return "cosine"

    def supported_spaces(self) -> list[str]:
        """How they can be measured."""
        return ["cosine", "l2", "ip"]


def for_chroma(function: Any) -> Any:
    """An embedder of crewgraph's, or an embedding function of a program's, as ChromaDB takes it; others stay what they are."""
    if isinstance(function, (NamedEmbedder, ProvidedFunction)):
        return ChromaEmbeddings(embedder_of(function))
    given: object = function
    if isinstance(given, EmbeddingFunction) and not hasattr(cast("object", given), "name"):
        return ChromaEmbeddings(embedder_of(cast("object", given)))
    return function
