"""What happens to memories: effects of the body call these functions.

The memories that an agent at work has: its own, else those of its crew.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from langgraph.config import get_store
from langgraph.errors import GraphBubbleUp

from crewgraph.compiler.task.training import TRAINING
from crewgraph.core.loops.bridge import call
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.task.task import Task
from crewgraph.events.knowledge import (
    MemoryRetrievalCompletedEvent,
    MemoryRetrievalFailedEvent,
    MemoryRetrievalStartedEvent,
)
from crewgraph.memory.contextual import MAX_LATEST, format_memories, memory_query, memory_texts
from crewgraph.memory.events import MEMORY_CALLER, emit_memory_event, save_with_events, search_with_events
from crewgraph.memory.storage import RUN_STORE, RAGStorage
from crewgraph.prompts.book import Book

__all__ = [
    "FORGETTING",
    "NO_MEMORIES",
    "Memories",
    "Remembers",
    "check_memories",
    "is_ours",
    "memories_of",
    "save_memory",
    "search_memories",
]


FORGETTING: ContextVar[Crew | None] = ContextVar("crewgraph_forgetting", default=None)
"""The crew that remembers nothing in the running code, because it is tested."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Memories:
    """The memories that an agent at work has; those that it has not are None."""

    long_term: Any = None
    short_term: Any = None
    entity: Any = None
    external: Any = None
    unified: Any = None
    """A memory for everything, which stands in the place of the kinds that were made for the crew."""

    def __bool__(self) -> bool:
        return any(
            one is not None for one in (self.long_term, self.short_term, self.entity, self.external, self.unified)
        )

    @property
    def kinds(self) -> dict[str, Any]:
        """Those of a kind that there are, by its name, in the order in which agents are told of them."""
        named = {
            "long_term_memory": self.long_term,
            "short_term_memory": self.short_term,
            "entity_memory": self.entity,
            "external_memory": self.external,
        }
        return {kind: memory for kind, memory in named.items() if memory is not None}


NO_MEMORIES = Memories()


def check_memories(crew: Crew) -> None:
    """Look, before anything is done, whether the embedders of a crew's memories are some; nothing is embedded.

    Raises:
        EmbedderError: one is none, or its configuration is wrong.
        MissingExtra: its provider needs a package that is not installed.
    """
    for memory in _of_crew(crew).kinds.values():
        storage = getattr(memory, "storage", None)
        if isinstance(storage, RAGStorage):
            _ = storage.embedder


def memories_of(agent: BaseAgent, crew: Crew | None) -> Memories:
    """The memories that an agent has when it works for a crew, or on its own.

    None in a training and in a test, which are to leave nothing behind; none where the agent's `memory` is False.
    """
    training = TRAINING.get()
    if agent.memory is False or (crew is not None and (FORGETTING.get() is crew or _trains(training, crew))):
        return NO_MEMORIES
    if agent.memory is not None and agent.memory is not True:
        return Memories(unified=agent.memory)
    found = NO_MEMORIES if crew is None else _of_crew(crew)
    if found or not agent.memory:
        return found
    return Memories(unified=agent.resolve_memory().memory)


def _trains(training: Any, crew: Crew) -> bool:
    return training is not None and training.crew is crew


def _of_crew(crew: Crew) -> Memories:
    unified = None if isinstance(crew.memory, bool) else crew.memory
    return Memories(
        long_term=crew.active_memory("long_term_memory"),
        short_term=crew.active_memory("short_term_memory"),
        entity=crew.active_memory("entity_memory"),
        external=crew.active_memory("external_memory"),
        unified=unified,
    )


class Remembers:
    """Who remembers, for events; entered before a memory is used."""

    def __init__(self, agent: BaseAgent, task: Task | None, role: str) -> None:
        self.agent, self.task = agent, task
        self._who = {"from_task": task, "from_agent": agent, "agent_role": role}

    def enter(self) -> None:
        """Let memories of this context tell of their work in its name, and use the store of the graph around."""
        MEMORY_CALLER.set(self._who)
        RUN_STORE.set(_store_around())

    def tell(self, event: Any, **fields: Any) -> None:
        """Emit an event in its name."""
        emit_memory_event(self.agent if self.task is None else self.task, event, **self._who, **fields)


def _store_around() -> Any:
    """The store that the graph around was compiled with, if it finds entries by their meaning; else None."""
    try:
        store: Any = get_store()
    except (KeyError, RuntimeError):
        return None
    # Without an index a LangGraph store answers a search with whatever it holds.
    return store if getattr(store, "index_config", None) else None


def search_memories(
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
    query = memory_query(description, context)
    source = "agent" if who.task is not None else "agent_kickoff"
    who.tell(MemoryRetrievalStartedEvent, source_type=source)
    started = time.perf_counter()
    found: dict[str, list[str]] = {}
    failed: dict[str, str] = {}
    for kind, search in (_searches(memories, description, query, limit) if query else {}).items():
        try:
            found[kind] = memory_texts(kind, search())
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001 - told, and the work goes on without
            failed[kind] = f"{type(error).__name__}: {error}"
    text = format_memories(found, book)
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
        about, most, least, given = description, MAX_LATEST, None, {"latest_n": MAX_LATEST}
    else:
        about, most, least, given = query, 5, 0.6, {}

    def search() -> Any:
        return call(memory.search, about, **given)

    # A version of the user's own tells nothing itself.
    return search if is_ours(memory, "search") else lambda: search_with_events(memory, kind, about, most, least, search)


def save_memory(memory: Any, kind: str, value: str | None, metadata: dict[str, Any], given: Any = None) -> None:
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
        save_with_events(memory, kind, value, metadata, save)


def is_ours(memory: Any, verb: str) -> bool:
    """Whether a memory has our version of a verb, which tells of itself, and has a face for event loops."""
    method: Any = getattr(memory, verb)
    return str(getattr(getattr(method, "__func__", method), "__module__", "")).startswith("crewgraph.memory")
