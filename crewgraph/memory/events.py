"""What memories tell of their work: events with how long it took, in the name of whoever remembers."""

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from crewgraph.core.replay import is_replayed
from crewgraph.extras import load

if TYPE_CHECKING:
    from crewgraph.events.base import BaseEvent

__all__ = ["REMEMBERING", "tell", "told_save", "told_search"]


_EVENTS = "crewgraph.events"  # who only declares a crew needs none of them

T = TypeVar("T")

REMEMBERING: ContextVar[Mapping[str, Any] | None] = ContextVar("crewgraph_remembering", default=None)
"""Who remembers, as fields of an event: `from_task`, `from_agent`, `agent_role`; None outside of a run."""


def told_save(
    source: Any,
    kind: str,
    value: str | None,
    metadata: dict[str, Any] | None,
    work: Callable[[], dict[str, Any] | None],
) -> None:
    """Save, and tell of it.

    Args:
        source: the memory.
        kind: what kind it is: "short_term_memory" ...
        value: what is saved.
        metadata: what is noted with it.
        work: saves it; what it returns are fields of the event that it is done.
    """
    events = load(_EVENTS)
    about = {"source_type": kind, "value": value, "metadata": metadata, **_who(source)}
    tell(source, events.MemorySaveStartedEvent, **about)
    begun = time.perf_counter()
    try:
        done = work()
    except BaseException as error:
        tell(source, events.MemorySaveFailedEvent, **about, error=str(error))
        raise
    took = (time.perf_counter() - begun) * 1000
    told = {**about, "value": value or "", **(done or {})}
    tell(source, events.MemorySaveCompletedEvent, **told, save_time_ms=took)


def told_search(
    source: Any, kind: str, query: str, limit: int, score_threshold: float | None, work: Callable[[], T]
) -> T:
    """Search, and tell of it.

    Args:
        source: the memory.
        kind: what kind it is: "short_term_memory" ...
        query: what is searched for.
        limit: at most so many entries.
        score_threshold: how near they are at least.
        work: finds them.
    """
    events = load(_EVENTS)
    about = {
        "source_type": kind,
        "query": query,
        "limit": limit,
        "score_threshold": score_threshold,
        **_who(source),
    }
    tell(source, events.MemoryQueryStartedEvent, **about)
    begun = time.perf_counter()
    try:
        found = work()
    except BaseException as error:
        tell(source, events.MemoryQueryFailedEvent, **about, error=str(error))
        raise
    took = (time.perf_counter() - begun) * 1000
    tell(source, events.MemoryQueryCompletedEvent, **about, results=found, query_time_ms=took)
    return found


def tell(source: Any, event: "type[BaseEvent]", **fields: Any) -> None:
    """Emit an event, where somebody wants it."""
    bus: Any = load(_EVENTS).crewai_event_bus
    if bus.wants(event) and not is_replayed():
        bus.emit(source, event(**fields))


def _who(source: Any) -> dict[str, Any]:
    at_work = REMEMBERING.get()
    if at_work is not None:
        return dict(at_work)
    return {"from_task": getattr(source, "task", None), "from_agent": getattr(source, "agent", None)}
