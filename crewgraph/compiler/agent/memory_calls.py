"""The memories of an agent (its own, else its crew's), and the functions that the effects on them call."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from langgraph.config import get_store

from crewgraph.core.loops.bridge import call
from crewgraph.core.outages import is_outage
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.prompts.i18n import Book
from crewgraph.schema import Metadata, PlainDict


@dataclass(frozen=True, kw_only=True, eq=False)
class Memories:
    """The memories available to an agent; None for each one it does not have."""

    long_term: object = None
    short_term: object = None
    entity: Any = None
    external: object = None
    unified: Any = None
    """A unified memory, which replaces the kinds created for the crew."""

    def __bool__(self) -> bool:
        return not (self.long_term is self.short_term is self.entity is self.external is self.unified is None)

    @property
    def kinds(self) -> PlainDict:
        """The memories by kind, in the order in which they appear in prompts."""
        memories = {
            "long_term_memory": self.long_term,
            "short_term_memory": self.short_term,
            "entity_memory": self.entity,
            "external_memory": self.external,
        }
        return {kind: memory for kind, memory in memories.items() if memory is not None}


class MemoryUser:
    """The agent and task that use a memory, for its events; entered before the memory is called."""

    def __init__(self, agent: BaseAgentDefinition, task: TaskDefinition | None, role: str) -> None:
        self.agent, self.task = agent, task
        self._who = {"from_task": task, "from_agent": agent, "agent_role": role}

    def enter(self) -> None:
        """Let memories in this context emit events for this user, and use the store of the current graph."""
        from crewgraph.memory.events import MEMORY_USE, MemoryUse

        MEMORY_USE.set(MemoryUse(self._who, _current_store()))

    def emit(self, event: Any, **fields: object) -> None:
        """Emit an event for this user."""
        from crewgraph.memory.events import emit_memory_event

        emit_memory_event(self.agent if self.task is None else self.task, event, **self._who, **fields)


def _current_store() -> object:
    """Return the store of the current graph if it supports semantic search, else None."""
    try:
        store: object = get_store()
    except (KeyError, RuntimeError):
        return None
    # Without an index, a LangGraph store returns arbitrary entries.
    return store if getattr(store, "index_config", None) else None


def search_memories(
    memories: Memories, user: MemoryUser, description: str, context: str, book: Book, limit: int
) -> dict[str, object]:
    """Search all memories for a task.

    Args:
        memories: the memories.
        user: the agent and task.
        description: the task or question.
        context: the outputs of other tasks.
        book: the prompts.
        limit: the maximum number of records from a unified memory.

    Returns:
        `text`, for the prompt, empty if nothing was found; `failed`: the error of each memory that failed; `texts`: what was
        found, by kind of memory.
    """
    from crewgraph.memory import kinds

    query = f"{description} {context}".strip()
    source = "agent" if user.task is not None else "agent_kickoff"
    from crewgraph.events import knowledge as knowledge_events

    user.emit(knowledge_events.MemoryRetrievalStartedEvent, source_type=source)
    started = time.perf_counter()
    texts: dict[str, list[str]] = {}
    failed: dict[str, str] = {}
    for kind, search in (_searches(memories, description, query, limit) if query else {}).items():
        try:
            texts[kind] = kinds.memory_texts(kind, search())
        except Exception as error:  # reported if a service is down: the work continues without it
            if not is_outage(error):
                raise
            failed[kind] = f"{type(error).__name__}: {error}"
    text = kinds.format_memories(texts, book)
    milliseconds = (time.perf_counter() - started) * 1000
    if failed and not texts:
        user.emit(knowledge_events.MemoryRetrievalFailedEvent, source_type=source, error="; ".join(failed.values()))
    else:
        user.emit(
            knowledge_events.MemoryRetrievalCompletedEvent,
            source_type=source,
            memory_content=text,
            retrieval_time_ms=milliseconds,
        )
    return {"text": text, "failed": failed, "texts": texts}


def _searches(memories: Memories, description: str, query: str, limit: int) -> dict[str, Callable[[], object]]:
    """Return a search function for each memory, by its kind."""
    searches = {kind: _search_memories(kind, memory, description, query) for kind, memory in memories.kinds.items()}
    if memories.unified is not None:
        searches["memory"] = partial(call, memories.unified.recall, description, limit=limit)
    return searches


def _search_memories(kind: str, memory: Any, description: str, query: str) -> Callable[[], object]:
    if kind == "long_term_memory":
        from crewgraph.memory import kinds

        search_text, limit, score_threshold, options = (
            description,
            kinds.MAX_LATEST,
            None,
            {"latest_n": kinds.MAX_LATEST},
        )
    else:
        search_text, limit, score_threshold, options = query, 5, 0.6, {}

    def search() -> Any:
        if is_builtin(memory, "search"):
            return call(memory.search, search_text, **options)
        from crewgraph.memory.events import memory_events

        fields = {"query": search_text, "limit": limit, "score_threshold": score_threshold}
        with memory_events(memory, kind, **fields) as found:  # a user's own version does not emit events
            found["results"] = call(memory.search, search_text, **options)
        return found["results"]

    return search


def save_memory(memory: Any, kind: str, value: str | None, metadata: Metadata, item: Any = None) -> None:
    """Save a text or an item.

    Args:
        memory: the memory.
        kind: its kind.
        value: the text; only for events if there is an item.
        metadata: the metadata; only for events if there is an item.
        item: an item saved in place of a text.
    """

    def save() -> None:  # the result of a user's own version is ignored
        if item is None:
            call(memory.save, value=value, metadata=metadata)
        else:
            call(memory.save, item)

    if is_builtin(memory, "save"):
        save()
    else:
        from crewgraph.memory.events import memory_events

        with memory_events(memory, kind, value=value, metadata=metadata):
            save()


def is_builtin(memory: object, method_name: str) -> bool:
    """Return whether a memory uses our implementation of a method, which emits its own events and has an async version."""
    method: object = getattr(memory, method_name)
    return str(getattr(getattr(method, "__func__", method), "__module__", "")).startswith("crewgraph.memory")
