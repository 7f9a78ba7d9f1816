"""The embedder that is always there: the letters of words hashed into a vector; nothing is learnt, loaded or sent."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from zlib import crc32

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from crewgraph.vectors.words import WordKind, words_of

__all__ = ["DIMENSIONS", "SMALLEST", "VERSION", "LocalEmbeddings"]

VERSION = 1
"""Raised whenever the same text gets another vector, so that what was kept is embedded anew."""

DIMENSIONS = 256
SMALLEST = 16

_KNOWN_WORDS = 4096  # vectors of words that are kept: 4 MB at 256 dimensions
_AT_ONCE = 512
_WHOLE = 0.3  # the share of a word's length that is the word itself, the rest is its pieces
_PIECES = (3, 4, 5)
_WEIGHTS = {WordKind.FILLER: 0.15, WordKind.SHORT: 0.6, WordKind.WORD: 1.0, WordKind.SIGN: 0.3, WordKind.PAIR: 0.8}
_NOTHING = ("", WordKind.SIGN)

_Word = tuple[str, WordKind]
_Floats = NDArray[np.float32]


class LocalEmbeddings(Embeddings):
    """Texts that share words, or words that share most of their letters, get vectors near each other.

    The same text has the same vector in every process and on every machine. Synonyms, paraphrases and other languages
    are not understood: `docs/embedders.md` has the measurements.

    Args:
        dimensions: the size of a vector; more of them tell more words apart.

    Raises:
        ValueError: fewer than 16 dimensions.
    """

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        if dimensions < SMALLEST:
            raise ValueError(f"a local embedder needs at least {SMALLEST} `dimensions`, not {dimensions}")
        self.dimensions = dimensions
        self._known: dict[_Word, _Floats] = {}

    @property
    def name(self) -> str:
        """What is kept beside vectors: "local/<version>/<dimensions>"."""
        return f"local/{VERSION}/{self.dimensions}"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        sum_of_words = np.zeros(self.dimensions, np.float32)
        counts = list(Counter(words_of(text)).items()) or [(_NOTHING, 1)]
        for start in range(0, len(counts), _AT_ONCE):
            some = counts[start : start + _AT_ONCE]
            known = self._knowing([word for word, _ in some])
            for word, count in some:
                sum_of_words += known[word] if count == 1 else known[word] * np.float32(math.sqrt(count))
        exact = sum_of_words.astype(np.float64)
        # Added up exactly: how numpy sums depends on the processor.
        length = math.sqrt(math.fsum((exact * exact).tolist())) or 1.0
        return (exact / length).tolist()

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    def _knowing(self, words: Sequence[_Word]) -> dict[_Word, _Floats]:
        """The vectors of these words, among others: a dictionary that is replaced, never emptied, for threads share it."""
        known = self._known
        if new := [word for word in words if word not in known]:
            if len(known) + len(new) > _KNOWN_WORDS:
                new, known = list(words), {}
            known.update(zip(new, self._hashed(new), strict=True))
            self._known = known
        return known

    def _hashed(self, words: Sequence[_Word]) -> _Floats:
        """A row for each word, about as long as it weighs: each feature adds or subtracts at two places that its hash gives."""
        features = [_features(word) for word in words]
        sizes = [len(some) for some in features]
        codes = [crc32(piece.encode("utf-8", "surrogatepass")) for piece, _ in chain.from_iterable(features)]
        amounts = np.array([amount for _, amount in chain.from_iterable(features)], np.float64)
        rows = np.repeat(np.arange(len(words), dtype=np.int64) * self.dimensions, sizes)
        mixed = _mixed(np.array(codes, np.uint64))
        table = np.zeros(len(words) * self.dimensions)
        for bits in (mixed >> np.uint64(32), mixed & np.uint64(0xFFFFFFFF)):
            places = rows + ((bits >> np.uint64(1)) * np.uint64(self.dimensions) >> np.uint64(31)).astype(np.int64)
            signed = np.where(bits & np.uint64(1), amounts, -amounts)
            table += np.bincount(places, weights=signed, minlength=len(table))
        return table.astype(np.float32).reshape(len(words), self.dimensions)


def _features(word: _Word) -> list[tuple[str, float]]:
    """The word itself and its pieces, which together are as long as the word weighs."""
    text, kind = word
    weight = _WEIGHTS[kind] / math.sqrt(2)
    if kind not in (WordKind.WORD, WordKind.SHORT):
        return [(f"={text}", weight)]
    framed = f"<{text}>"
    pieces = [framed[at : at + size] for size in _PIECES for at in range(len(framed) - size + 1)]
    amount = weight * math.sqrt((1 - _WHOLE) / len(pieces))
    return [(f"={text}", weight * math.sqrt(_WHOLE)), *((piece, amount) for piece in pieces)]


def _mixed(codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Checksums as hashes: like texts have like checksums, and unlike hashes (the finish of SplitMix64)."""
    codes = (codes + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return codes ^ (codes >> np.uint64(31))
