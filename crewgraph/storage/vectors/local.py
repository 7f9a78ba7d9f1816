"""The built-in embedder: hashes words and their letters into a vector, without a model, a download or a request.

`words_of` splits a text: case-folded, with identifiers split and Chinese in pairs of characters.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import chain
from zlib import crc32

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray


class WordKind(Enum):
    """The kind of a word, which determines its weight."""

    WORD = "word"
    SHORT = "short"
    """At most two letters, in a script with spaces between words."""

    FILLER = "filler"
    """"the", "of": in every text, and without a topic."""

    SIGN = "sign"
    """A single character of a script without spaces."""

    PAIR = "pair"
    """Two such characters in a row."""


_ENGLISH = """
a about after all also an and any are as at be been before but by can could did do does for from had has have he her his how
i if in into is it its just may me more most my no not of on or our out over she should so some such than that the their them
then there these they this those to too under up us was we were what when where which who why will with would you your
"""
_GERMAN = """
aber als am an auch auf aus bei bis das dass dem den der des die durch ein eine einem einen einer eines er es fur hat ich ihr
ihre im in ist kein keine man mit nach nicht noch nur oder sich sie sind so uber um und unter vom von vor wann war was welche
welcher welches wenn wer wie wir wird wo zu zum zur
"""
_FRENCH_AND_SPANISH = """
au aux avec ce ces dans de des du elle en est et il ils je la le les leur lui mais ne nous on ou par pas plus pour qu que qui
sa se ses son sont sur un une vous al como con cual del donde el ella en entre era es esta este fue ha la las lo los mas muy
no o para pero por que se sin son su sus un una y ya
"""
_FILLERS = frozenset((_ENGLISH + _GERMAN + _FRENCH_AND_SPANISH).split())

_MARKS = dict.fromkeys(range(0x0300, 0x0370))
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of(text: str) -> Iterator[tuple[str, WordKind]]:
    """The words of a text in order, without case, accents and punctuation.

    "customerId" and "customer_id" are two words each. Scripts without spaces between words (Chinese, Japanese, Thai)
    yield their characters and pairs of neighbours.
    """
    plain = _HUMP.sub(" ", unicodedata.normalize("NFKC", text))
    if not plain.isascii():
        # Accents go, whatever else is composed of several signs (Korean, Japanese voicing) stays whole.
        plain = unicodedata.normalize("NFC", unicodedata.normalize("NFKD", plain.casefold()).translate(_MARKS))
    for run in _RUN.findall(plain.casefold()):
        if run[0] >= "\u0e00" and _is_unspaced(run[0]):
            yield from ((letter, WordKind.SIGN) for letter in run)
            yield from ((run[at : at + 2], WordKind.PAIR) for at in range(len(run) - 1))
        elif run in _FILLERS:
            yield run, WordKind.FILLER
        else:
            yield run, WordKind.SHORT if len(run) < 3 else WordKind.WORD


_is_unspaced = re.compile(f"[{_UNSPACED}]").match


VERSION = 1
"""Raised whenever the vector of a text changes, so that stored entries are embedded again."""

DIMENSIONS = 256
SMALLEST = 16

_MAX_CACHED_WORDS = 4096  # vectors of words that are kept: 4 MB at 256 dimensions
_AT_ONCE = 512
_WORD_SHARE = 0.3  # the share of a word's length that is the word itself, the rest is its pieces
_PIECES = (3, 4, 5)
_WEIGHTS = {WordKind.FILLER: 0.15, WordKind.SHORT: 0.6, WordKind.WORD: 1.0, WordKind.SIGN: 0.3, WordKind.PAIR: 0.8}
_NO_WORD = ("", WordKind.SIGN)

_Word = tuple[str, WordKind]
_Floats = NDArray[np.float32]


class LocalEmbeddings(Embeddings):
    """Embeds texts so that shared words, or words that share most of their letters, give similar vectors.

    A text has the same vector in every process and on every machine. Synonyms, paraphrases and other languages
    are not recognized: `docs/embedders.md` has the measurements.

    Args:
        dimensions: the length of a vector; more distinguish more words.

    Raises:
        ValueError: fewer than 16 dimensions.
    """

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        if dimensions < SMALLEST:
            raise ValueError(f"a local embedder needs at least {SMALLEST} `dimensions`, not {dimensions}")
        self.dimensions = dimensions
        self._word_cache: dict[_Word, _Floats] = {}

    @property
    def name(self) -> str:
        """The name of its vectors: "local/<version>/<dimensions>"."""
        return f"local/{VERSION}/{self.dimensions}"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        sum_of_words = np.zeros(self.dimensions, np.float32)
        counts = list(Counter(words_of(text)).items()) or [(_NO_WORD, 1)]
        for start in range(0, len(counts), _AT_ONCE):
            chunk = counts[start : start + _AT_ONCE]
            vectors = self._word_vectors([word for word, _ in chunk])
            for word, count in chunk:
                sum_of_words += vectors[word] if count == 1 else vectors[word] * np.float32(math.sqrt(count))
        exact = sum_of_words.astype(np.float64)
        # Added up exactly: how numpy sums depends on the processor.
        length = math.sqrt(math.fsum((exact * exact).tolist())) or 1.0
        return (exact / length).tolist()

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    def _word_vectors(self, words: Sequence[_Word]) -> dict[_Word, _Floats]:
        """A dict with the vectors of these words, among others; it is replaced and never emptied, as threads share it."""
        cache = self._word_cache
        if missing := [word for word in words if word not in cache]:
            if len(cache) + len(missing) > _MAX_CACHED_WORDS:
                missing, cache = list(words), {}
            cache.update(zip(missing, self._hash(missing), strict=True))
            self._word_cache = cache
        return cache

    def _hash(self, words: Sequence[_Word]) -> _Floats:
        """A row for each word, scaled by its weight: each feature adds or subtracts at two positions given by its hash."""
        features = [_features(word) for word in words]
        sizes = [len(word_features) for word_features in features]
        codes = [crc32(piece.encode("utf-8", "surrogatepass")) for piece, _ in chain.from_iterable(features)]
        amounts = np.array([amount for _, amount in chain.from_iterable(features)], np.float64)
        rows = np.repeat(np.arange(len(words), dtype=np.int64) * self.dimensions, sizes)
        mixed = _mix(np.array(codes, np.uint64))
        table = np.zeros(len(words) * self.dimensions)
        for bits in (mixed >> np.uint64(32), mixed & np.uint64(0xFFFFFFFF)):
            places = rows + ((bits >> np.uint64(1)) * np.uint64(self.dimensions) >> np.uint64(31)).astype(np.int64)
            signed = np.where(bits & np.uint64(1), amounts, -amounts)
            table += np.bincount(places, weights=signed, minlength=len(table))
        return table.astype(np.float32).reshape(len(words), self.dimensions)


def _features(word: _Word) -> list[tuple[str, float]]:
    """The word itself and its pieces, weighted so that together they have the word's weight."""
    text, kind = word
    weight = _WEIGHTS[kind] / math.sqrt(2)
    if kind not in (WordKind.WORD, WordKind.SHORT):
        return [(f"={text}", weight)]
    framed = f"<{text}>"
    pieces = [framed[at : at + size] for size in _PIECES for at in range(len(framed) - size + 1)]
    amount = weight * math.sqrt((1 - _WORD_SHARE) / len(pieces))
    return [(f"={text}", weight * math.sqrt(_WORD_SHARE)), *((piece, amount) for piece in pieces)]


def _mix(codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Turn checksums into hashes: similar texts have similar checksums but unrelated hashes (the finalizer of SplitMix64)."""
    codes = (codes + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return codes ^ (codes >> np.uint64(31))
