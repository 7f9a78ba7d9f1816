"""Memory events, with timings and the task and agent on whose behalf the memory is used."""

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from crewgraph.core.current import is_replayed
from crewgraph.schema import Metadata, PlainDict

if TYPE_CHECKING:
    from crewgraph.events.base import BaseEvent

__all__ = ["MEMORY_USE", "MemoryUse", "emit_memory_event", "save_with_events", "search_with_events"]


T = TypeVar("T")


class MemoryUse(NamedTuple):
    """On whose behalf the running code uses a memory."""

    caller: Mapping[str, object] | None = None
    """The task and agent, as event fields: `from_task`, `from_agent`, `agent_role`; None outside a run."""

    store: object = None
    """The store of the running graph, used by memories without their own storage; None if the graph has none."""


MEMORY_USE: ContextVar[MemoryUse] = ContextVar("crewgraph_memory_use", default=MemoryUse())
"""On whose behalf the running code uses a memory."""


def save_with_events(
    source: object,
    kind: str,
    value: str | None,
    metadata: Metadata | None,
    save: Callable[[], PlainDict | None],
) -> None:
    """Run `save` and emit its started, completed and failed events.

    Args:
        source: the memory.
        kind: the kind of memory, such as "short_term_memory".
        value: the saved value.
        metadata: its metadata.
        save: saves it, and returns further fields for the completed event.
    """
    fields = {"source_type": kind, "value": value, "metadata": metadata, **_caller(source)}
    from crewgraph import events

    emit_memory_event(source, events.MemorySaveStartedEvent, **fields)
    start = time.perf_counter()
    try:
        result_fields = save()
    except BaseException as error:  # reported whatever it is, also a cancellation
        emit_memory_event(source, events.MemorySaveFailedEvent, **fields, error=str(error))
        raise
    milliseconds = (time.perf_counter() - start) * 1000
    completed = {**fields, "value": value or "", **(result_fields or {})}
    emit_memory_event(source, events.MemorySaveCompletedEvent, **completed, save_time_ms=milliseconds)


def search_with_events(
    source: object, kind: str, query: str, limit: int, score_threshold: float | None, search: Callable[[], T]
) -> T:
    """Run `search` and emit its started, completed and failed events.

    Args:
        source: the memory.
        kind: the kind of memory, such as "short_term_memory".
        query: the query.
        limit: the maximum number of entries.
        score_threshold: the minimum score.
        search: returns the entries.
    """
    fields = {
        "source_type": kind,
        "query": query,
        "limit": limit,
        "score_threshold": score_threshold,
        **_caller(source),
    }
    from crewgraph import events

    emit_memory_event(source, events.MemoryQueryStartedEvent, **fields)
    start = time.perf_counter()
    try:
        results = search()
    except BaseException as error:  # reported whatever it is, also a cancellation
        emit_memory_event(source, events.MemoryQueryFailedEvent, **fields, error=str(error))
        raise
    milliseconds = (time.perf_counter() - start) * 1000
    emit_memory_event(source, events.MemoryQueryCompletedEvent, **fields, results=results, query_time_ms=milliseconds)
    return results


def emit_memory_event(source: object, event: "type[BaseEvent]", **fields: Any) -> None:
    """Emit an event if it has listeners and the run is not being replayed."""
    from crewgraph import events

    if events.crewai_event_bus.wants(event) and not is_replayed():
        events.crewai_event_bus.emit(source, event(**fields))


def _caller(source: object) -> dict[str, object]:
    caller = MEMORY_USE.get().caller
    if caller is not None:
        return dict(caller)
    return {"from_task": getattr(source, "task", None), "from_agent": getattr(source, "agent", None)}
