"""The files of a run in an agent's work: the interface of the extension that reads them."""

from typing import Any, Protocol

from crewgraph.core.messages import Message
from crewgraph.prompts.book import Book

__all__ = ["NO_FILES", "AvailableFiles"]


class AvailableFiles(Protocol):
    """The files available to one agent."""

    def notes(self, book: Book) -> tuple[str, ...]:
        """Return what the agent's prompt says about the files."""
        ...

    def shown_in(self, messages: list[Message]) -> list[Message]:
        """Return the messages, with a marker for each file shown to the model in the user's last one."""
        ...

    def tools(self, book: Book) -> list[Any]:
        """Return the tool that reads the files that are not shown, if there are any."""
        ...


class _NoFiles:
    def notes(self, book: Book) -> tuple[str, ...]:
        return ()

    def shown_in(self, messages: list[Message]) -> list[Message]:
        return messages

    def tools(self, book: Book) -> list[Any]:
        return []


NO_FILES: AvailableFiles = _NoFiles()
