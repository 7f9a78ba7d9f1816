"""A conversation that may grow too long for its model: it is condensed then, and goes on."""

from collections.abc import Callable, Sequence
from typing import Protocol

from crewgraph.compiler.agent.protocol import final_text, reply_text
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, EffectFailed
from crewgraph.core.messages import Hooked, Message, Reply
from crewgraph.llm.conversation import plain_messages
from crewgraph.prompts.book import Book
from crewgraph.text import shorten

__all__ = ["Condenser", "Dialogue", "is_too_long"]


_SMALLEST = 200
"""Characters; a text that is shorter is not condensed."""

_CHARACTERS = 2
"""Per token of a context window, so that a part fits beside its instructions in most languages."""


class Condenser(Protocol):
    """Who condenses."""

    book: Book
    window: Callable[[], int]
    """How many tokens the model reads."""

    def ask(self, transcript: Transcript) -> Body[Reply]:
        """Ask the model outside of the conversation."""
        ...


def is_too_long(failure: EffectFailed) -> bool:
    """Whether a request failed because the conversation is longer than the model can read."""
    return failure.type_name == "ContextLengthExceeded"


class Dialogue:
    """What an agent and its model say, from the opening on."""

    def __init__(self, opening: Callable[[str, str], Sequence[Message]], context: str) -> None:
        """Begin.

        Args:
            opening: makes the first messages, for a context and a summary of what was done so far.
            context: what others found out.
        """
        self._opening, self._context, self._done = opening, context, ""
        self._part: int | None = None
        self._closing: Message | None = None
        self._begin(())

    def _begin(self, rest: Sequence[Message]) -> None:
        opening = list(self._opening(self._context, self._done))
        self._opened = len(opening)
        closing = [self._closing] if self._closing else []
        # A new one: requests that were made hold on to theirs.
        self.transcript = Transcript([*opening, *rest, *closing])

    def add(self, message: Message) -> None:
        """Append a message."""
        self.transcript.add(message)

    def close(self, message: Message) -> None:
        """Append the last message of ours, which stays the last one, word for word."""
        self._closing = message
        self.transcript.add(message)

    def reopen(self, message: Message) -> None:
        """Append a message after which the conversation goes on, even if it was closed."""
        self._closing = None
        self.transcript.add(message)

    def hooked(self, changed: Hooked) -> None:
        """Go on with what hooks have made of it."""
        messages = self.transcript.messages[: changed["kept"]] + changed["then"]
        self._opened = min(self._opened, len(messages))
        if not messages or messages[-1] != self._closing:
            self._closing = None
        self.transcript = Transcript(messages)

    def condensed(self, by: Condenser) -> Body[bool]:
        """Make the longer one of context and work at least half as long; False where both are short already.

        The work is replaced as a whole, so that no call of a tool is torn from its result.

        Raises:
            EffectFailed: the model could not be asked.
        """
        work = self._work()
        said = "\n\n".join(
            [self._done, *(f"{one['role']}: {reply_text(one['content'])}" for one in plain_messages(work))]
        )
        if max(len(said), len(self._context)) < _SMALLEST:
            return False
        if len(said) >= len(self._context):
            self._done = yield from self._shortened(said.strip(), by)
            self._begin(())
        else:
            self._context = yield from self._shortened(self._context, by)
            self._begin(work)
        return True

    def _work(self) -> list[Message]:
        messages = self.transcript.messages
        return messages[self._opened : len(messages) - (1 if self._closing else 0)]

    def _shortened(self, text: str, by: Condenser) -> Body[str]:
        """A text condensed part by part; a part that is itself too long for the model is halved."""
        parts: list[str] = []
        while text:
            self._part = self._part or by.window() * _CHARACTERS
            part = _beginning(text, self._part)
            try:
                reply = yield from by.ask(_request(part, by.book))
            except EffectFailed as failure:
                if not is_too_long(failure) or len(part) <= _SMALLEST:
                    raise
                self._part = len(part) // 2
                continue
            parts.append(shorten(final_text(reply) or part, max(len(part) // 2, 1)))
            text = text[len(part) :]
        return "\n".join(parts)


def _beginning(text: str, size: int) -> str:
    """The first part of a text: whole lines, where they are short enough."""
    if len(text) <= size:
        return text
    lines = text.rfind("\n", size // 2, size) + 1
    return text[: lines or max(size, 1)]


def _request(part: str, book: Book) -> Transcript:
    return Transcript(
        [
            {"role": "system", "content": book.slice("summarizer_system_message")},
            {"role": "user", "content": book.slice("summarize_instruction", group=part)},
        ]
    )
