"""Functions that embed, as LangChain's `Embeddings`."""

from collections.abc import Callable
from typing import Any

from langchain_core.embeddings import Embeddings

from crewgraph.core.loops.bridge import acall, call

__all__ = ["FunctionEmbeddings"]


class FunctionEmbeddings(Embeddings):
    """A function of a list of texts, sync or async, that gives a vector for each.

    An object with `embed_query` of its own, as CrewAI's embedding functions have it, is asked with that for the vector of a
    query: a function, too, of a list of texts.
    """

    def __init__(self, function: Callable[[list[str]], Any]) -> None:
        self.function = function
        query = getattr(function, "embed_query", None)
        self._query: Callable[[list[str]], Any] = query if callable(query) else function

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return call(self.function, texts)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return await acall(self.function, texts)

    def embed_query(self, text: str) -> list[float]:
        return _only(call(self._query, [text]))

    async def aembed_query(self, text: str) -> list[float]:
        return _only(await acall(self._query, [text]))


def _only(vectors: Any) -> Any:
    """The one vector of one text; what is no list of one passes, for whoever checks it."""
    return vectors[0] if hasattr(vectors, "__len__") and len(vectors) == 1 else vectors
