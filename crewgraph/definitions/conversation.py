"""What was said before a run: a chat that led to it, as an input."""

import json
from collections.abc import Mapping
from typing import Any, cast

from crewgraph.errors import DefinitionError, Fault
from crewgraph.prompts.book import Book

__all__ = ["CONVERSATION", "with_conversation"]

CONVERSATION = "crew_chat_messages"
"""The input that holds the chat."""


def with_conversation(description: str, inputs: Mapping[str, Any], book: Book) -> str:
    """A task's description with the chat among the inputs below it; as it is where there is none.

    Raises:
        DefinitionError: the input is neither a list of messages nor the JSON of one.
    """
    given = inputs.get(CONVERSATION)
    if not given:
        return description
    said = "\n".join(
        f"{str(one['role']).capitalize()}: {one['content']}"
        for one in cast(list[Mapping[str, Any]], _messages(given))
        if isinstance(one, Mapping) and "role" in one and "content" in one  # pyright: ignore[reportUnnecessaryIsInstance]
    )
    return f"{description}\n\n{book.slice('conversation_history_instruction')}\n\n{said}"


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
    return DefinitionError([Fault(where=f"the input `{CONVERSATION}`", what=what, remedy=remedy, code="input")])
