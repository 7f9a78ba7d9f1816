"""Processing of the texts of tasks before they become prompts."""

from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

from crewgraph.core.loops.bridge import call

__all__ = ["ContentProcessorProvider", "NoOpContentProcessor", "get_processor", "process_content", "set_processor"]


@runtime_checkable
class ContentProcessorProvider(Protocol):
    """Processes texts: redacts, translates or shortens them."""

    def process(self, content: str, context: dict[str, Any] | None = None) -> str:
        """Return the processed text; always the same for the same text, because a resumed run asks again.

        Args:
            content: the text, its placeholders filled.
            context: the owner of the text: the `task`.
        """
        ...


class NoOpContentProcessor:
    """Returns texts unchanged."""

    def process(self, content: str, context: dict[str, Any] | None = None) -> str:
        """Return the text unchanged."""
        return content


_processor: ContextVar[ContentProcessorProvider | None] = ContextVar("crewgraph_content_processor", default=None)

_no_op = NoOpContentProcessor()


def get_processor() -> ContentProcessorProvider:
    """Return the processor of this context, else a `NoOpContentProcessor`."""
    return _processor.get() or _no_op


def set_processor(processor: ContentProcessorProvider) -> None:
    """Set the processor for descriptions and expected outputs of tasks, in runs with inputs started in this context."""
    _processor.set(processor)


def process_content(content: str, context: dict[str, Any] | None = None) -> str:
    """Return a text as the processor of this context changes it."""
    return call(get_processor().process, content, context)
