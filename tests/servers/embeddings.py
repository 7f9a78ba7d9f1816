"""The endpoints that embed, of `OpenAIServer`: OpenAI's `/v1/embeddings` and Ollama's `/api/embed` and `/api/embeddings`.

with OpenAIServer(embeddings=[error(429, retry_after=0.1), None, garbage()]) as server:
    ...  # the first request that wants vectors is refused, the second is answered, the third gets nonsense
"""

import base64
import hashlib
import json
import re
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .answers import Answer, Request

__all__ = ["VECTOR_SIZE", "Doing", "Embedder", "Vectors", "vector_of", "wants_vectors"]

VECTOR_SIZE = 64

Doing = Answer | float | None
Vectors = Sequence[Doing] | Callable[[Request], Doing]
"""The answers to embedding requests, in order: an answer of the test's own, the right one after some seconds,
or (None, and whatever comes after these) the right one."""


class Embedder:
    """Answers embedding requests, and misbehaves as a test configures.

    Args:
        script: how; None answers all.
        size: the length of vectors where a request does not ask for one.
    """

    def __init__(self, script: Vectors | None = None, *, size: int = VECTOR_SIZE) -> None:
        self._script: Vectors = script or ()
        self._size = size
        self._position = 0
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Answer:
        doing = self._scripted(request)
        return doing if isinstance(doing, Answer) else replace(self._embedded(request), delay=doing or 0.0)

    def _scripted(self, request: Request) -> Doing:
        if callable(self._script):
            return self._script(request)
        with self._lock:
            position, self._position = self._position, self._position + 1
        return self._script[position] if position < len(self._script) else None

    def _embedded(self, request: Request) -> Answer:
        asked = request.body
        size = int(asked.get("dimensions") or self._size)
        given = asked.get("input", asked.get("prompt", []))
        rows: list[Any] = [given] if isinstance(given, str) or (given and isinstance(given[0], int)) else given
        vectors = [vector_of(row, size) for row in rows]
        if request.path.endswith("/api/embed"):
            return _told({"model": asked.get("model"), "embeddings": vectors, "prompt_eval_count": len(rows)})
        if request.path.endswith("/api/embeddings"):
            return _told({"embedding": vectors[0]})
        packed = asked.get("encoding_format") == "base64"
        listed = [
            {"object": "embedding", "index": at, "embedding": _packed(vector) if packed else vector}
            for at, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": len(rows), "total_tokens": len(rows)}
        return _told({"object": "list", "data": listed, "model": asked.get("model"), "usage": usage})


def wants_vectors(request: Request) -> bool:
    """Whether a request is for one of these endpoints."""
    return request.path.partition("?")[0].endswith(("/embeddings", "/api/embed"))


def vector_of(row: str | list[int], size: int = VECTOR_SIZE) -> list[float]:
    """A bag of hashed words of length 1, so that texts that share words are near each other."""
    words = re.findall(r"\w+", row.lower()) if isinstance(row, str) else [str(token) for token in row]
    vector = [0.0] * size
    for word in words or [""]:
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % size] += 1.0
    length = sum(number * number for number in vector) ** 0.5
    return [number / length for number in vector]


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _told(answer: dict[str, Any]) -> Answer:
    return Answer(body=json.dumps(answer).encode())
