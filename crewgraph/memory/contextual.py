"""What all memories together know of a task."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from crewgraph.core.loops.bridge import call
from crewgraph.prompts.book import Book, english
from crewgraph.text import shorten

__all__ = ["LATEST", "LONGEST", "ContextualMemory", "contents", "query_of", "recollection"]


LATEST = 2
"""How many entries of the long-term memory an agent is told of."""

LONGEST = 2000
"""How many characters of an entry agents are told: a tool may have given a whole book."""

_KINDS = ("memory", "long_term_memory", "short_term_memory", "entity_memory", "external_memory")


class ContextualMemory:
    """What all memories together know of a task.

    Args:
        stm: the short-term memory; None where there is none, as for the others.
        ltm: the long-term memory.
        em: the entity memory.
        exm: the external memory.
        agent: who remembers, for events.
        task: what for.
    """

    def __init__(
        self, stm: Any = None, ltm: Any = None, em: Any = None, exm: Any = None, agent: Any = None, task: Any = None
    ) -> None:
        self.stm, self.ltm, self.em, self.exm = stm, ltm, em, exm
        self.agent, self.task = agent, task
        for memory in filter(None, (stm, ltm, em, exm)):
            if agent is not None:
                memory.agent = agent
            if task is not None:
                memory.task = task

    def build_context_for_task(self, task: Any, context: str = "") -> str:
        """What the memories know of a task, as a text for a prompt; empty where that is nothing.

        Args:
            task: the task.
            context: what others have found out.

        Raises:
            Exception: what a memory raises.
        """
        query = query_of(task.description, context)
        if not query:
            return ""
        searches: tuple[tuple[str, Any, Callable[[], Any]], ...] = (
            ("long_term_memory", self.ltm, lambda: self.ltm.search(task.description, latest_n=LATEST)),
            ("short_term_memory", self.stm, lambda: self.stm.search(query)),
            ("entity_memory", self.em, lambda: self.em.search(query)),
            ("external_memory", self.exm, lambda: self.exm.search(query)),
        )
        found = {kind: contents(kind, call(search)) for kind, memory, search in searches if memory is not None}
        return recollection(found, english())


def query_of(description: str, context: str) -> str:
    """What memories are searched for."""
    return f"{description} {context}".strip()


def contents(kind: str, found: Any) -> list[str]:
    """The texts of what a memory has found, each once and not longer than `LONGEST`.

    Args:
        kind: the kind of memory: of the long-term memory it is what was suggested.
        found: entries, as dicts that hold a text, or as texts.
    """
    results: Any = cast("dict[str, Any]", found).get("results") if isinstance(found, dict) else found
    texts: Iterable[str] = (text for one in cast("Sequence[Any]", results or ()) for text in _texts(kind, one))
    return list(dict.fromkeys(filter(None, (shorten(text.strip(), LONGEST) for text in texts))))


def _texts(kind: str, one: Any) -> list[str]:
    if isinstance(one, str):
        return [one]
    if not isinstance(one, Mapping):
        return [str(one.format() if callable(getattr(one, "format", None)) else one)]
    entry = cast("Mapping[str, Any]", one)
    if kind == "long_term_memory":
        metadata: Any = entry.get("metadata") or {}
        suggestions: Any = cast("Mapping[str, Any]", metadata).get("suggestions") or ()
        return [suggestions] if isinstance(suggestions, str) else [str(text) for text in suggestions]
    return [str(next((entry[name] for name in ("content", "context", "memory", "text") if entry.get(name)), ""))]


def recollection(found: Mapping[str, Sequence[str]], book: Book) -> str:
    """What the memories have found, as a text for a prompt; empty where that is nothing."""
    listed = {kind: "\n".join(map(_listed, found[kind])) for kind in _KINDS if found.get(kind)}
    return "\n\n".join(_section(kind, memories, book) for kind, memories in listed.items())


def _listed(text: str) -> str:
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
