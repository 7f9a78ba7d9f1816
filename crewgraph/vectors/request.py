"""What is sent to a service that speaks OpenAI's protocol: texts in requests that it takes."""

import math
from collections.abc import Iterator, Sequence

from langchain_core.embeddings import Embeddings

from crewgraph.errors import EmbedderError

__all__ = ["RequestEmbeddings"]

# In bytes of UTF-8, for tokens cannot be counted without the model's own list of them. A token is rarely less than 1.3 bytes,
# so that these hold OpenAI's bounds: 8,191 tokens in a text, 300,000 tokens and 2,048 texts in a request.
_LONGEST_TEXT = 10_000
_LARGEST_REQUEST = 300_000
_MOST_TEXTS = 512


class RequestEmbeddings(Embeddings):
    """Embeddings over HTTP: many texts go in several requests, and a long one in parts whose vectors are averaged.

    Args:
        source: what sends a request, and repeats it where that helps.
        label: how errors call it.

    Raises:
        EmbedderError: from each method, where the answer is none. What HTTP clients raise passes unchanged.
    """

    def __init__(self, source: Embeddings, label: str) -> None:
        self.source = source
        self.label = label

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        parts = [_parts(text) for text in texts]
        vectors: list[list[float]] = []
        for request in _requests(parts):
            with _Readable(self.label):
                vectors += self._whole(self.source.embed_documents(request), request)
        return _joined(parts, vectors)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        parts = [_parts(text) for text in texts]
        vectors: list[list[float]] = []
        for request in _requests(parts):
            with _Readable(self.label):
                vectors += self._whole(await self.source.aembed_documents(request), request)
        return _joined(parts, vectors)

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def aembed_query(self, text: str) -> list[float]:
        return (await self.aembed_documents([text]))[0]

    def _whole(self, vectors: list[list[float]], request: list[str]) -> list[list[float]]:
        if len(vectors) != len(request):  # told here, as it would shift the vectors of other texts
            raise EmbedderError(f"The embedder {self.label} gave {len(vectors)} vectors for {len(request)} texts.")
        return vectors


class _Readable:
    """A `with` around a request: what the client library stumbles over in an answer becomes an error that says so."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (AttributeError, LookupError, TypeError, ValueError)) and not isinstance(
            error, EmbedderError
        ):
            raise EmbedderError(
                f"The embedder {self._label} got an answer that cannot be read: {error} "
                "Check that its address is that of an OpenAI-compatible API; most end in /v1."
            ) from error


def _parts(text: str) -> list[str]:
    """A text in parts that are short enough, cut between words where there are any; services refuse a text of nothing."""
    if not text.strip():
        return [" "]
    encoded = text.encode("utf-8", "replace")  # halves of surrogate pairs cannot be sent
    text = encoded.decode("utf-8")
    if len(encoded) <= _LONGEST_TEXT:
        return [text]
    width = _LONGEST_TEXT // max(len(letter.encode("utf-8")) for letter in set(text))
    parts: list[str] = []
    while text:
        end = len(text) if len(text) <= width else text.rfind(" ", width // 2, width) + 1 or width
        parts.append(text[:end])
        text = text[end:]
    return [part for part in parts if part.strip()]


def _requests(parts: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    request: list[str] = []
    size = 0
    for part in (part for some in parts for part in some):
        length = len(part.encode("utf-8"))
        if request and (size + length > _LARGEST_REQUEST or len(request) == _MOST_TEXTS):
            yield request
            request, size = [], 0
        request.append(part)
        size += length
    if request:
        yield request


def _joined(parts: Sequence[Sequence[str]], vectors: Sequence[list[float]]) -> list[list[float]]:
    """A vector for each text: that of its only part, or the parts' mean by their length, of length 1."""
    joined: list[list[float]] = []
    rest = iter(vectors)
    for some in parts:
        first = next(rest)
        if len(some) > 1:
            weighed: list[tuple[int, list[float]]] = [
                (len(some[0]), first),
                *((len(part), next(rest)) for part in some[1:]),
            ]
            first = _mean(weighed)
        joined.append(first)
    return joined


def _mean(weighed: Sequence[tuple[int, list[float]]]) -> list[float]:
    sums: list[float] = [math.fsum(column) for column in zip(*([w * n for n in v] for w, v in weighed), strict=True)]
    length = math.sqrt(math.fsum(number * number for number in sums)) or 1.0
    return [number / length for number in sums]
