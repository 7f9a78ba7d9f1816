"""An agent's conversation with its model, condensed when it exceeds the context window."""

from collections.abc import Callable, Sequence
from typing import Protocol

from crewgraph.compiler.agent.protocol import final_text, reply_text
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, EffectFailed
from crewgraph.core.messages import Hooked, Message, Reply
from crewgraph.llm.conversation import plain_messages
from crewgraph.llm.provider_fields import KEY
from crewgraph.prompts.i18n import Book
from crewgraph.schema import PlainMapping
from crewgraph.text import shorten

_MIN_LENGTH = 200
"""In characters; shorter texts are not condensed."""

_CHARACTERS_PER_TOKEN = 2
"""Low enough for a part and its instructions to fit the context window in most languages."""


_REFUSED_REQUESTS = (
    *("BadRequestError", "InvalidRequestError", "UnprocessableEntityError", "ValidationException", "InvalidArgument"),
    *("ClientError", "ChatGoogleGenerativeAIError", "HTTPStatusError", "NotImplementedError", "UnreadableAnswer"),
)
"""The ends of the names of what clients raise for a request that the server does not understand."""


class Condenser(Protocol):
    """The model access and prompts needed to condense a conversation."""

    book: Book

    def window(self) -> int:
        """Return the size of the model's context window, in tokens."""
        ...

    def ask(self, transcript: Transcript) -> Body[Reply]:
        """Request a reply outside of the conversation."""
        ...


def is_too_long(failure: EffectFailed) -> bool:
    """Return whether a request failed because the conversation exceeds the context window."""
    return failure.type_name == "ContextLengthExceeded"


def is_refused(failure: EffectFailed) -> bool:
    """Return whether a request failed because the server does not understand it, such as its response format."""
    return failure.type_name.endswith(_REFUSED_REQUESTS)


_UNFINISHED = ("ReplyCut", "ReplyFiltered", "RemoteProtocolError", "ReadError")


def is_unfinished(failure: EffectFailed) -> bool:
    """Return whether an answer did not arrive whole, for which no client asks again: the next one may."""
    return failure.type_name in _UNFINISHED


class Dialogue:
    """The messages between an agent and its model."""

    def __init__(
        self, opening: Callable[[str, str], Sequence[Message]], context: str, history: Sequence[Message] = ()
    ) -> None:
        """Start with the opening messages.

        Args:
            opening: builds the first messages from a context and a summary of the work so far.
            context: the outputs of other tasks.
            history: an earlier conversation, before the last of them.
        """
        self._opening, self._context, self._summary = opening, context, ""
        self._history: Sequence[Message] = history
        self._part_size: int | None = None
        self._closing: Message | None = None
        self.answer_extra: PlainMapping = {}
        """The `extra` of the reply that holds the latest answer."""

        self.final: tuple[Message, ...] = ()
        """The reply of an agent with native tools that is its answer."""

        self._reset(())

    def _reset(self, rest: Sequence[Message]) -> None:
        opening = list(self._opening(self._context, self._summary))
        opening[-1:-1] = self._history
        self._opening_length = len(opening)
        closing = [self._closing] if self._closing else []
        # A new transcript: effects of earlier requests still refer to theirs.
        self.transcript = Transcript([*opening, *rest, *closing])

    @property
    def whole(self) -> list[Message]:
        """The messages, with the reply that is the answer."""
        return [*self.transcript.messages, *self.final]

    def add(self, message: Message) -> None:
        """Append a message."""
        self.final = ()
        self.transcript.add(message)

    def add_answer(self, answer: str) -> None:
        """Append the answer to the conversation, which goes on."""
        message: Message = {"role": "assistant", "content": answer}
        if KEY in self.answer_extra:
            message["extra"] = {KEY: self.answer_extra[KEY]}
        self.add(message)

    def close(self, message: Message) -> None:
        """Append our last message, which stays last and unchanged when the conversation is condensed."""
        self._closing = message
        self.transcript.add(message)

    def reopen(self, message: Message) -> None:
        """Append a message that continues the conversation, even after `close`."""
        self._closing = None
        self.transcript.add(message)

    def write_out_calls(self) -> None:
        """Turn tool calls and their results into texts, for servers that reject them where no tools are offered."""
        self.transcript = Transcript(plain_messages(self.transcript.messages))

    def apply_hooks(self, changed: Hooked) -> None:
        """Replace the messages that hooks changed."""
        messages = self.transcript.messages[: changed["kept"]] + changed["then"]
        self._opening_length = min(self._opening_length, len(messages))
        if not messages or messages[-1] != self._closing:
            self._closing = None
        self.transcript = Transcript(messages)

    def condense(self, condenser: Condenser) -> Body[bool]:
        """Summarize the longest of work so far, context and earlier conversation; return False if all are short already.

        The work is replaced as a whole, so that no tool call is separated from its result.

        Raises:
            EffectFailed: the request for a summary failed.
        """
        messages = self._messages_after_opening()
        transcript, history = f"{self._summary}\n\n{_transcript(messages)}", _transcript(self._history)
        longest = max(transcript, self._context, history, key=len)
        if len(longest) < _MIN_LENGTH:
            return False
        summary = yield from self._summarize(longest.strip(), condenser)
        if longest is transcript:
            self._summary, messages = summary, []
        elif longest is history:
            text = condenser.book.slice("summary", merged_summary=summary)
            self._history = [{"role": "user", "content": text}]
        else:
            self._context = summary
        self._reset(messages)
        return True

    def _messages_after_opening(self) -> list[Message]:
        messages = self.transcript.messages
        return messages[self._opening_length : len(messages) - (1 if self._closing else 0)]

    def _summarize(self, text: str, condenser: Condenser) -> Body[str]:
        """Summarize a text part by part, halving the parts that are too long for the model."""
        parts: list[str] = []
        while text:
            self._part_size = self._part_size or condenser.window() * _CHARACTERS_PER_TOKEN
            part = _first_part(text, self._part_size)
            try:
                reply = yield from condenser.ask(_summary_request(part, condenser.book))
            except EffectFailed as failure:
                if not is_too_long(failure) or len(part) <= _MIN_LENGTH:
                    raise
                self._part_size = len(part) // 2
                continue
            parts.append(shorten(final_text(reply) or part, max(len(part) // 2, 1)))
            text = text[len(part) :]
        return "\n".join(parts)


def _transcript(messages: Sequence[Message]) -> str:
    return "\n\n".join(f"{message['role']}: {reply_text(message['content'])}" for message in plain_messages(messages))


def _first_part(text: str, size: int) -> str:
    """Return the beginning of a text, cut at a line end where possible."""
    if len(text) <= size:
        return text
    lines = text.rfind("\n", size // 2, size) + 1
    return text[: lines or max(size, 1)]


def _summary_request(part: str, book: Book) -> Transcript:
    return Transcript(
        [
            {"role": "system", "content": book.slice("summarizer_system_message")},
            {"role": "user", "content": book.slice("summarize_instruction", group=part)},
        ]
    )
