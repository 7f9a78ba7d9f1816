"""Embedders of others, held to what an embedder is to give: a vector for each text, all of the same size, of numbers."""

import threading
from array import array
from collections import OrderedDict
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from crewgraph.errors import EmbedderError

__all__ = ["CheckedEmbeddings"]

_QUERIES = 128


class CheckedEmbeddings(Embeddings):
    """Another's embeddings: what they give is looked at, and the last queries' vectors are kept.

    A run asks several memories with the same words; their vectors are paid for once.

    Args:
        source: what embeds.
        label: how errors call it.

    Raises:
        EmbedderError: from each method, where the source gives too few or too many vectors, vectors of another size than
            before, or what are no numbers.
    """

    def __init__(self, source: Embeddings, label: str) -> None:
        self.source = source
        self.label = label
        self.size: int | None = None
        """How many numbers a vector has; None until there is one."""

        self._queries: OrderedDict[str, array[float]] = OrderedDict()
        self._lock = threading.Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._checked(self.source.embed_documents(texts), len(texts)) if texts else []

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._checked(await self.source.aembed_documents(texts), len(texts)) if texts else []

    def embed_query(self, text: str) -> list[float]:
        return self._recalled(text) or self._kept(text, self.source.embed_query(text))

    async def aembed_query(self, text: str) -> list[float]:
        return self._recalled(text) or self._kept(text, await self.source.aembed_query(text))

    def _recalled(self, text: str) -> list[float] | None:
        with self._lock:
            if text not in self._queries:
                return None
            self._queries.move_to_end(text)
            return self._queries[text].tolist()

    def _kept(self, text: str, given: Any) -> list[float]:
        vector = self._checked([given], 1)[0]
        with self._lock:
            self._queries[text] = array("d", vector)
            if len(self._queries) > _QUERIES:
                self._queries.popitem(last=False)
        return vector

    def _checked(self, given: Any, count: int) -> list[list[float]]:
        found = len(given) if hasattr(given, "__len__") else count
        if found != count:
            raise EmbedderError(f"The embedder {self.label} gave {found} vectors for {count} texts.")
        try:
            vectors = np.array(given, np.float64)
        except (TypeError, ValueError):
            raise EmbedderError(
                f"The embedder {self.label} gave what are no vectors of one size: {_shown(given)}. It is to give a list of "
                "numbers for each text."
            ) from None
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise EmbedderError(
                f"The embedder {self.label} gave {_shown(given)}, which is no list of numbers for each text."
            )
        if not np.isfinite(vectors).all():
            raise EmbedderError(f"The embedder {self.label} gave a vector that holds NaN or an infinite number.")
        self._sized(vectors.shape[1])
        return vectors.tolist()

    def _sized(self, size: int) -> None:
        if self.size is None:
            self.size = size
        if self.size != size:
            raise EmbedderError(
                f"The embedder {self.label} gave vectors of {size} numbers, and of {self.size} before. Vectors of several "
                "sizes cannot be compared: give each model an embedder of its own."
            )


def _shown(given: Any) -> str:
    text = repr(given)
    return text if len(text) < 80 else f"{text[:77]}..."
