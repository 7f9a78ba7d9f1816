"""Digests of requests, the same in every process and on every machine.

A conversation that grows at its end and knows its digest without reading itself again.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from crewgraph.core.messages import Message

__all__ = ["Transcript", "digest", "encoded"]


_SIZE = 12


def encoded(value: Any) -> bytes:
    """A value as bytes that do not depend on the order of keys or on object addresses."""
    return _encode(value).encode("utf-8", "surrogatepass")


def digest(*parts: object) -> str:
    """A short name for a request: 24 hexadecimal digits of BLAKE2b."""
    return hashlib.blake2b(encoded(parts), digest_size=_SIZE).hexdigest()


def _stable(value: Any) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return getattr(value, "__qualname__", None) or type(value).__qualname__


# One encoder for all: `json.dumps` with settings of one's own makes a new one each time.
_encode = json.JSONEncoder(default=_stable, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


class Transcript:
    """The messages of a conversation, oldest first.

    A message that was added is never changed; so each request hashes only what is new, and nothing where nobody asks.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages: list[Message] = list(messages)
        self._hash = hashlib.blake2b(digest_size=_SIZE)
        self._hashed = 0

    @property
    def messages(self) -> list[Message]:
        """The messages, in a list of the caller's own."""
        return list(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, message: Message) -> None:
        """Append a message."""
        self._messages.append(message)

    def digest(self, length: int | None = None) -> str:
        """24 hexadecimal digits over the first `length` messages, all where None."""
        length = len(self._messages) if length is None else length
        if length < self._hashed:
            return Transcript(self._messages[:length]).digest()
        for message in self._messages[self._hashed : length]:
            self._hash.update(encoded(message))
        self._hashed = length
        return self._hash.copy().hexdigest()
