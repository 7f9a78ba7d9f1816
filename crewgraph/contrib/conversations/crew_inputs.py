"""What a crew is told of a conversation, and what people are told of a crew that they can talk to."""

import json
from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, Field

from crewgraph.definitions.placeholders import CHAT_HISTORY
from crewgraph.errors import DefinitionError, Fault
from crewgraph.prompts.book import Book

__all__ = ["ChatInputField", "ChatInputs", "with_history"]


class ChatInputField(BaseModel):
    """Something that the crew has to be told."""

    name: str = Field(description="the input's name")
    """Its name among the inputs."""

    description: str = Field(description="what is to be given")
    """What is to be given."""


class ChatInputs(BaseModel):
    """A crew, and what it has to be told."""

    crew_name: str = Field(description="the name of the crew")
    """Its name."""

    crew_description: str = Field(description="what it does, in one sentence")
    """What it does, in one sentence."""

    inputs: list[ChatInputField] = Field(default_factory=list[ChatInputField], description="its inputs")
    """Its inputs."""


def with_history(description: str, history: Any, book: Book) -> str:
    """A task's description with the chat that led to the run below it.

    Args:
        description: the description.
        history: the chat, as the input `crew_chat_messages` holds it.
        book: the texts of prompts.

    Raises:
        DefinitionError: it is neither a list of messages nor the JSON of one.
    """
    lines = "\n".join(
        f"{str(message['role']).capitalize()}: {message['content']}"
        for message in cast(list[Mapping[str, Any]], _messages(history))
        if isinstance(message, Mapping) and "role" in message and "content" in message  # pyright: ignore[reportUnnecessaryIsInstance]
    )
    return f"{description}\n\n{book.slice('conversation_history_instruction')}\n\n{lines}"


def _messages(given: Any) -> list[Any]:
    found: object = given
    if isinstance(given, str):
        try:
            found = json.loads(given)
        except ValueError as error:
            raise _refused(f"it is no JSON: {error}.") from error
    if not isinstance(found, list):
        raise _refused(f"it is {found!r:.80}.")
    return cast("list[Any]", found)


def _refused(what: str) -> DefinitionError:
    remedy = 'Give a list of messages, [{"role": "user", "content": "..."}], or the JSON of one.'
    return DefinitionError([Fault(where=f"the input `{CHAT_HISTORY}`", what=what, remedy=remedy, code="input")])
