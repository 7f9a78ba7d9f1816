"""What happens to memories: effects of the body call these functions."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from langgraph.config import get_store
from langgraph.errors import GraphBubbleUp

from crewgraph.compiler.memories import Memories
from crewgraph.core.loops.bridge import call
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.task import Task
from crewgraph.events.knowledge import (
    MemoryRetrievalCompletedEvent,
    MemoryRetrievalFailedEvent,
    MemoryRetrievalStartedEvent,
)
from crewgraph.memory.contextual import LATEST, contents, query_of, recollection
from crewgraph.memory.events import REMEMBERING, tell, told_save, told_search
from crewgraph.memory.storage import KEPT_IN
from crewgraph.prompts.book import Book

__all__ = ["Remembers", "is_ours", "looked_up", "put_away"]


class Remembers:
    """Who remembers, for events; entered before a memory is used."""

    def __init__(self, agent: BaseAgent, task: Task | None, role: str) -> None:
        self.agent, self.task = agent, task
        self._who = {"from_task": task, "from_agent": agent, "agent_role": role}

    def enter(self) -> None:
        """Let memories of this context tell of their work in its name, and use the store of the graph around."""
        REMEMBERING.set(self._who)
        KEPT_IN.set(_store_around())

    def tell(self, event: Any, **fields: Any) -> None:
        """Emit an event in its name."""
        tell(self.agent if self.task is None else self.task, event, **self._who, **fields)


def _store_around() -> Any:
    """The store that the graph around was compiled with, if it finds entries by their meaning; else None."""
    try:
        store: Any = get_store()
    except (KeyError, RuntimeError):
        return None
    # Without an index a LangGraph store answers a search with whatever it holds.
    return store if getattr(store, "index_config", None) else None


def looked_up(
    memories: Memories, who: Remembers, description: str, context: str, book: Book, limit: int
) -> dict[str, Any]:
    """What all memories know of a task.

    Args:
        memories: those that are asked.
        who: who remembers.
        description: the task, or a question.
        context: what others have found out.
        book: the wording.
        limit: how many records a memory for everything gives at most.

    Returns:
        `text`, for the prompt, empty where nothing is known; `failed`: what each memory that failed raised.
    """
    query = query_of(description, context)
    source = "agent" if who.task is not None else "agent_kickoff"
    who.tell(MemoryRetrievalStartedEvent, source_type=source)
    started = time.perf_counter()
    found: dict[str, list[str]] = {}
    failed: dict[str, str] = {}
    for kind, search in (_searches(memories, description, query, limit) if query else {}).items():
        try:
            found[kind] = contents(kind, search())
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001 - told, and the work goes on without
            failed[kind] = f"{type(error).__name__}: {error}"
    text = recollection(found, book)
    took = (time.perf_counter() - started) * 1000
    if failed and not found:
        who.tell(MemoryRetrievalFailedEvent, source_type=source, error="; ".join(failed.values()))
    else:
        who.tell(MemoryRetrievalCompletedEvent, source_type=source, memory_content=text, retrieval_time_ms=took)
    return {"text": text, "failed": failed}


def _searches(memories: Memories, description: str, query: str, limit: int) -> dict[str, Callable[[], Any]]:
    """How each memory is asked, by its kind."""
    asked = {kind: _search(kind, memory, description, query) for kind, memory in memories.kinds.items()}
    if memories.unified is not None:
        asked["memory"] = partial(call, memories.unified.recall, description, limit=limit)
    return asked


def _search(kind: str, memory: Any, description: str, query: str) -> Callable[[], Any]:
    if kind == "long_term_memory":
        about, most, least, given = description, LATEST, None, {"latest_n": LATEST}
    else:
        about, most, least, given = query, 5, 0.6, {}

    def search() -> Any:
        return call(memory.search, about, **given)

    # A version of the user's own tells nothing itself.
    return search if is_ours(memory, "search") else lambda: told_search(memory, kind, about, most, least, search)


def put_away(memory: Any, kind: str, value: str | None, metadata: dict[str, Any], given: Any = None) -> None:
    """Save something.

    Args:
        memory: where.
        kind: what kind of memory it is.
        value: the text; for events alone where something else is given.
        metadata: what is noted with it; the same.
        given: what is saved in place of a text.
    """

    def save() -> None:  # what a version of the user's own returns is nobody's
        if given is None:
            call(memory.save, value=value, metadata=metadata)
        else:
            call(memory.save, given)

    if is_ours(memory, "save"):
        save()
    else:
        told_save(memory, kind, value, metadata, save)


def is_ours(memory: Any, verb: str) -> bool:
    """Whether a memory has our version of a verb, which tells of itself, and has a face for event loops."""
    method: Any = getattr(memory, verb)
    return str(getattr(getattr(method, "__func__", method), "__module__", "")).startswith("crewgraph.memory")
