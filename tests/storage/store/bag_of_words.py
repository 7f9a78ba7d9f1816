"""A bag-of-words embedder for tests, the same in all processes."""

from zlib import crc32

from langchain_core.embeddings import Embeddings

__all__ = ["DIMS", "Bag"]

DIMS = 64
_DIGITS = 4
_OWN_PLACES = ("tea", "milk", "coffee", "water", "green", "black", "cup", "of", "and", "one", "two")
"""Words with their own dimensions; all others share the remaining ones."""


class Bag(Embeddings):
    """Counts words; texts that share words are near each other. A number of up to 4 digits is as many words.

    It records its texts.
    """

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
            if word.isdecimal():
                for place, digit in enumerate(word.zfill(_DIGITS)):
                    row[(place * 10 + int(digit)) % self.dims] += 1.0
            else:
                row[-1 - _place(word) % (self.dims - 10 * _DIGITS if self.dims >= DIMS else self.dims)] += 1.0
        return row


def _place(word: str) -> int:
    own = len(_OWN_PLACES)
    return _OWN_PLACES.index(word) if word in _OWN_PLACES else own + crc32(word.encode()) % (DIMS - 10 * _DIGITS - own)


def _words(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
