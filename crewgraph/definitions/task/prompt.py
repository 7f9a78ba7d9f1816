"""What is made of the texts of tasks before agents are told them."""

from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

__all__ = ["ContentProcessorProvider", "NoOpContentProcessor", "get_processor", "process_content", "set_processor"]


@runtime_checkable
class ContentProcessorProvider(Protocol):
    """Makes something of texts: hides what nobody is to read, translates, cuts."""

    def process(self, content: str, context: dict[str, Any] | None = None) -> str:
        """What stands in the place of a text; the same for the same text, as a run that is resumed asks again.

        Args:
            content: the text, its placeholders filled.
            context: whose it is: the `task`.
        """
        ...


class NoOpContentProcessor:
    """Leaves texts as they are."""

    def process(self, content: str, context: dict[str, Any] | None = None) -> str:
        """The text itself."""
        return content


_processor: ContextVar[ContentProcessorProvider | None] = ContextVar("crewgraph_content_processor", default=None)

_no_op = NoOpContentProcessor()


def get_processor() -> ContentProcessorProvider:
    """Who was given, else a `NoOpContentProcessor`."""
    return _processor.get() or _no_op


def set_processor(processor: ContentProcessorProvider) -> None:
    """Have descriptions and expected outputs of tasks processed, in runs with inputs that are started in this context."""
    _processor.set(processor)


def process_content(content: str, context: dict[str, Any] | None = None) -> str:
    """What the processor of this context makes of a text."""
    return get_processor().process(content, context)
