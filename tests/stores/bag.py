"""An embedder for tests: the words of a text, each at a place of its own."""

import zlib
from collections.abc import Iterable

from langchain_core.embeddings import Embeddings

__all__ = ["DIMS", "Bag"]

DIMS = 64


class Bag(Embeddings):
    """Counts words; texts that share words are near each other. It notes what it was asked for."""

    def __init__(self, model: str = "bag", dims: int = DIMS) -> None:
        self.model = model
        self.dims = dims
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked += texts
        return [self._counted(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._counted(text)

    def _counted(self, text: str) -> list[float]:
        row = [0.0] * self.dims
        for word in _words(text):
            row[zlib.crc32(word.encode()) % self.dims] += 1.0
        return row


def _words(text: str) -> Iterable[str]:
    return "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
