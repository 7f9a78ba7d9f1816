"""Searching all memories for a task, and formatting the results for a prompt."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from crewgraph.core.loops.bridge import call
from crewgraph.prompts.book import Book, default_book
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.text import shorten

__all__ = ["MAX_ENTRY_LENGTH", "MAX_LATEST", "ContextualMemory", "format_memories", "memory_query", "memory_texts"]


MAX_LATEST = 2
"""The maximum number of entries from the long-term memory."""

MAX_ENTRY_LENGTH = 2000
"""The maximum length of an entry in characters: a tool may have returned a whole book."""

_KINDS = ("memory", "long_term_memory", "short_term_memory", "entity_memory", "external_memory")


class ContextualMemory:
    """Searches all kinds of memory for a task.

    Args:
        stm: the short-term memory, or None; likewise the others.
        ltm: the long-term memory.
        em: the entity memory.
        exm: the external memory.
        agent: the agent, for events.
        task: the task, for events.
    """

    def __init__(
        self,
        stm: Any = None,
        ltm: Any = None,
        em: Any = None,
        exm: Any = None,
        agent: object = None,
        task: object = None,
    ) -> None:
        self.stm, self.ltm, self.em, self.exm = stm, ltm, em, exm
        self.agent, self.task = agent, task
        for memory in filter(None, (stm, ltm, em, exm)):
            if agent is not None:
                memory.agent = agent
            if task is not None:
                memory.task = task

    def build_context_for_task(self, task: Any, context: str = "") -> str:
        """The memories related to a task, as text for a prompt; empty if there are none.

        Args:
            task: the task.
            context: the results of other tasks.

        Raises:
            Exception: whatever a memory raises.
        """
        query = memory_query(task.description, context)
        if not query:
            return ""
        searches: tuple[tuple[str, object, Callable[[], object]], ...] = (
            ("long_term_memory", self.ltm, lambda: self.ltm.search(task.description, latest_n=MAX_LATEST)),
            ("short_term_memory", self.stm, lambda: self.stm.search(query)),
            ("entity_memory", self.em, lambda: self.em.search(query)),
            ("external_memory", self.exm, lambda: self.exm.search(query)),
        )
        results = {kind: memory_texts(kind, call(search)) for kind, memory, search in searches if memory is not None}
        return format_memories(results, default_book())


def memory_query(description: str, context: str) -> str:
    """The text that memories are searched with."""
    return f"{description} {context}".strip()


def memory_texts(kind: str, search_results: object) -> list[str]:
    """The texts of a memory's search results, without duplicates, each at most `MAX_ENTRY_LENGTH` long.

    Args:
        kind: the kind of memory; for the long-term memory the texts are its suggestions.
        search_results: entries, as texts or as dicts with a text.
    """
    results = cast("PlainDict", search_results).get("results") if isinstance(search_results, dict) else search_results
    texts: Iterable[str] = (text for entry in cast("Sequence[Any]", results or ()) for text in _texts(kind, entry))
    return list(dict.fromkeys(filter(None, (shorten(text.strip(), MAX_ENTRY_LENGTH) for text in texts))))


def _texts(kind: str, result: Any) -> list[str]:
    if isinstance(result, str):
        return [result]
    if not isinstance(result, Mapping):
        return [str(result.format() if callable(getattr(result, "format", None)) else result)]
    entry = cast("PlainMapping", result)
    if kind == "long_term_memory":
        metadata: object = entry.get("metadata") or {}
        suggestions = cast("PlainMapping", metadata).get("suggestions") or ()
        return [suggestions] if isinstance(suggestions, str) else [str(text) for text in suggestions]
    return [str(next((entry[name] for name in ("content", "context", "memory", "text") if entry.get(name)), ""))]


def format_memories(texts_by_kind: Mapping[str, Sequence[str]], book: Book) -> str:
    """Search results by kind of memory, as text for a prompt; empty if there are none."""
    listed = {kind: "\n".join(map(_list_item, texts_by_kind[kind])) for kind in _KINDS if texts_by_kind.get(kind)}
    return "\n\n".join(_section(kind, memories, book) for kind, memories in listed.items())


def _list_item(text: str) -> str:
    return text if text.startswith("- ") else f"- {text}"


def _section(kind: str, memories: str, book: Book) -> str:
    if kind == "memory":
        return memories
    if kind == "long_term_memory":
        return book.slice("memory_long_term", memories=memories)
    if kind == "short_term_memory":
        return book.slice("memory_short_term", memories=memories)
    if kind == "entity_memory":
        return book.slice("memory_entities", memories=memories)
    return book.slice("memory_external", memories=memories)
