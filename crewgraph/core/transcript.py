"""A conversation that grows at its end and knows its digest without reading itself again."""

import hashlib
from collections.abc import Iterable

from crewgraph.core.digest import encoded
from crewgraph.core.messages import Message

__all__ = ["Transcript"]


class Transcript:
    """The messages of a conversation, oldest first.

    A message that was added is never changed; so each request hashes only what is new.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages: list[Message] = []
        self._hash = hashlib.blake2b(digest_size=12)
        for message in messages:
            self.add(message)

    @property
    def messages(self) -> list[Message]:
        """The messages, in a list of the caller's own."""
        return list(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, message: Message) -> None:
        """Append a message."""
        self._messages.append(message)
        self._hash.update(encoded(message))

    def digest(self) -> str:
        """24 hexadecimal digits over all messages."""
        return self._hash.copy().hexdigest()
