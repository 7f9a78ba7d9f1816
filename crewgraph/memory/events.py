"""What memories tell of their work: events with how long it took, in the name of whoever remembers."""

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from crewgraph.core.replay import is_replayed
from crewgraph.extras import load

if TYPE_CHECKING:
    from crewgraph.events.base import BaseEvent

__all__ = ["MEMORY_CALLER", "emit_memory_event", "save_with_events", "search_with_events"]


_EVENTS = "crewgraph.events"  # who only declares a crew needs none of them

T = TypeVar("T")

MEMORY_CALLER: ContextVar[Mapping[str, Any] | None] = ContextVar("crewgraph_remembering", default=None)
"""Who remembers, as fields of an event: `from_task`, `from_agent`, `agent_role`; None outside of a run."""


def save_with_events(
    source: Any,
    kind: str,
    value: str | None,
    metadata: dict[str, Any] | None,
    save: Callable[[], dict[str, Any] | None],
) -> None:
    """Save, and tell of it.

    Args:
        source: the memory.
        kind: what kind it is: "short_term_memory" ...
        value: what is saved.
        metadata: what is noted with it.
        save: saves it; what it returns are fields of the event that it is done.
    """
    events = load(_EVENTS)
    fields = {"source_type": kind, "value": value, "metadata": metadata, **_caller(source)}
    emit_memory_event(source, events.MemorySaveStartedEvent, **fields)
    start = time.perf_counter()
    try:
        result_fields = save()
    except BaseException as error:
        emit_memory_event(source, events.MemorySaveFailedEvent, **fields, error=str(error))
        raise
    milliseconds = (time.perf_counter() - start) * 1000
    completed = {**fields, "value": value or "", **(result_fields or {})}
    emit_memory_event(source, events.MemorySaveCompletedEvent, **completed, save_time_ms=milliseconds)


def search_with_events(
    source: Any, kind: str, query: str, limit: int, score_threshold: float | None, search: Callable[[], T]
) -> T:
    """Search, and tell of it.

    Args:
        source: the memory.
        kind: what kind it is: "short_term_memory" ...
        query: what is searched for.
        limit: at most so many entries.
        score_threshold: how near they are at least.
        search: finds them.
    """
    events = load(_EVENTS)
    fields = {
        "source_type": kind,
        "query": query,
        "limit": limit,
        "score_threshold": score_threshold,
        **_caller(source),
    }
    emit_memory_event(source, events.MemoryQueryStartedEvent, **fields)
    start = time.perf_counter()
    try:
        results = search()
    except BaseException as error:
        emit_memory_event(source, events.MemoryQueryFailedEvent, **fields, error=str(error))
        raise
    milliseconds = (time.perf_counter() - start) * 1000
    emit_memory_event(source, events.MemoryQueryCompletedEvent, **fields, results=results, query_time_ms=milliseconds)
    return results


def emit_memory_event(source: Any, event: "type[BaseEvent]", **fields: Any) -> None:
    """Emit an event, where somebody wants it."""
    bus: Any = load(_EVENTS).crewai_event_bus
    if bus.wants(event) and not is_replayed():
        bus.emit(source, event(**fields))


def _caller(source: Any) -> dict[str, Any]:
    caller = MEMORY_CALLER.get()
    if caller is not None:
        return dict(caller)
    return {"from_task": getattr(source, "task", None), "from_agent": getattr(source, "agent", None)}
