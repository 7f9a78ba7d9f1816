"""Data of chats with crews: the inputs to collect, and the chat history that tasks see."""

import json
from typing import Any

from pydantic import BaseModel, Field

from crewgraph.definitions.placeholders import CHAT_HISTORY
from crewgraph.errors import DefinitionError, Fault
from crewgraph.prompts.book import Book
from crewgraph.schema import is_list, is_mapping

__all__ = ["ChatInputField", "ChatInputs", "with_history"]


class ChatInputField(BaseModel):
    """Something that the crew has to be told."""

    name: str = Field(description="the input's name")
    """The name of the input."""

    description: str = Field(description="what to enter")
    """What is to be given."""


class ChatInputs(BaseModel):
    """A crew, and what it has to be told."""

    crew_name: str = Field(description="the crew's name")
    """Its name."""

    crew_description: str = Field(description="what it does, in one sentence")
    """What it does, in one sentence."""

    inputs: list[ChatInputField] = Field(default_factory=list[ChatInputField], description="its inputs")
    """Its inputs."""


def with_history(description: str, history: object, book: Book) -> str:
    """Append the chat that led to the run to a task's description.

    Args:
        description: The description.
        history: The chat, as in the input `crew_chat_messages`.
        book: The prompts.

    Raises:
        DefinitionError: If the history is neither a list of messages nor the JSON of one.
    """
    lines = "\n".join(
        f"{str(message['role']).capitalize()}: {message['content']}"
        for message in _chat_messages(history)
        if is_mapping(message) and "role" in message and "content" in message
    )
    return f"{description}\n\n{book.slice('conversation_history_instruction')}\n\n{lines}"


def _chat_messages(history: object) -> list[Any]:
    messages: object = history
    if isinstance(history, str):
        try:
            messages = json.loads(history)
        except ValueError as error:
            raise _invalid_history(f"it is not JSON: {error}.") from error
    if not is_list(messages):
        raise _invalid_history(f"it is {messages!r:.80}.")
    return messages


def _invalid_history(problem: str) -> DefinitionError:
    remedy = 'Give a list of messages, [{"role": "user", "content": "..."}], or the JSON of one.'
    return DefinitionError([Fault(where=f"the input `{CHAT_HISTORY}`", what=problem, remedy=remedy, code="input")])
