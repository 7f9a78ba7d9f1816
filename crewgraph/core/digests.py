"""Digests of requests, the same in every process and on every machine; and transcripts with incremental digests."""

import hashlib
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json

from crewgraph.core.messages import Message
from crewgraph.redaction import RedactedModel
from crewgraph.text import json_encoder

_SIZE = 12
_TEXT_MESSAGE = {"role", "content"}


def encoded(value: Any) -> bytes:
    """Encode a value as bytes that depend neither on the order of keys nor on object addresses."""
    return _encode(value).encode("utf-8", "surrogatepass")


def digest(*parts: object) -> str:
    """Return the digest of a request: 24 hexadecimal digits of BLAKE2b."""
    return hashlib.blake2b(encoded(parts), digest_size=_SIZE).hexdigest()


def _stable(value: Any) -> object:
    if isinstance(value, RedactedModel):
        return BaseModel.model_dump(value, mode="json")  # with its secrets: a digest tells none, and differs with them
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return getattr(value, "__qualname__", None) or type(value).__qualname__


_encode = json_encoder(default=_stable, sort_keys=True, ensure_ascii=False)


def _encoded_message(message: Message) -> bytes:
    """Return the same as `encoded`, in a fifth of the time for a message of text alone."""
    content, role = message.get("content"), message.get("role")
    if type(content) is str and type(role) is str and message.keys() == _TEXT_MESSAGE:
        try:
            return b'{"content":%b,"role":%b}' % (to_json(content), to_json(role))
        except ValueError:  # a lone surrogate
            pass
    return encoded(message)


class Transcript:
    """The messages of a conversation, oldest first.

    Messages never change once added, so each digest hashes only what is new.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages: list[Message] = list(messages)
        self._hash = hashlib.blake2b(digest_size=_SIZE)
        self._hashed = 0

    @property
    def messages(self) -> list[Message]:
        """A copy of the messages."""
        return list(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, message: Message) -> None:
        """Append a message."""
        self._messages.append(message)

    def digest(self, length: int | None = None) -> str:
        """Return the digest of the first `length` messages (all if None), as 24 hexadecimal digits."""
        length = len(self._messages) if length is None else length
        if length < self._hashed:
            return Transcript(self._messages[:length]).digest()
        for message in self._messages[self._hashed : length]:
            self._hash.update(_encoded_message(message))
        self._hashed = length
        return self._hash.copy().hexdigest()
