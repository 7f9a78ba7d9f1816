"""The files of a run in an agent's work: what the compiler asks of the extension that reads them."""

from typing import Any, Protocol

from crewgraph.core.messages import Message
from crewgraph.prompts.book import Book

__all__ = ["NO_FILES", "FilesAtHand"]


class FilesAtHand(Protocol):
    """The files that one agent has."""

    def notes(self, book: Book) -> tuple[str, ...]:
        """What the agent's prompt says of them."""
        ...

    def shown_in(self, messages: list[Message]) -> list[Message]:
        """Messages with a mark for each file that the model is shown, in the last one of the user's."""
        ...

    def tools(self, book: Book) -> list[Any]:
        """The tool that reads those that are not shown; none where there are none."""
        ...


class _NoFiles:
    """What a run without files has."""

    def notes(self, book: Book) -> tuple[str, ...]:
        return ()

    def shown_in(self, messages: list[Message]) -> list[Message]:
        return messages

    def tools(self, book: Book) -> list[Any]:
        return []


NO_FILES: FilesAtHand = _NoFiles()
"""No files."""
