"""Memory events, with timings and the task and agent on whose behalf the memory is used."""

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from crewgraph.core.current import is_replayed
from crewgraph.schema import PlainDict

if TYPE_CHECKING:
    from crewgraph.events.base import BaseEvent


class MemoryUse(NamedTuple):
    """On whose behalf the running code uses a memory."""

    caller: Mapping[str, object] | None = None
    """The task and agent, as event fields: `from_task`, `from_agent`, `agent_role`; None outside a run."""

    store: object = None
    """The store of the running graph, used by memories without their own storage; None if the graph has none."""


MEMORY_USE: ContextVar[MemoryUse] = ContextVar("crewgraph_memory_use", default=MemoryUse())
"""On whose behalf the running code uses a memory."""

UNIFIED = "unified_memory"
"""The kind of a `Memory` in events."""


@contextmanager
def memory_events(source: object, kind: str, **fields: Any) -> Generator[PlainDict]:
    """Emit the started event of a search or a save, and at the end of the block the completed or the failed one.

    The block puts further fields of the completed event into the dict, such as the `results` of a search.

    Args:
        source: the memory.
        kind: the kind of memory, such as "short_term_memory".
        fields: of all events: those of a search have a `query`, those of a save a `value`.
    """
    from crewgraph.events import knowledge as events

    caller = MEMORY_USE.get().caller
    if caller is None:
        caller = {"from_task": getattr(source, "task", None), "from_agent": getattr(source, "agent", None)}
    fields = {"source_type": kind, **fields, **caller}
    if "query" in fields:
        action, duration, completed = "Query", "query_time_ms", fields
    else:
        action, duration, completed = "Save", "save_time_ms", {**fields, "value": fields["value"] or ""}
    started, failed, ended = (
        getattr(events, f"Memory{action}{end}Event") for end in ("Started", "Failed", "Completed")
    )
    emit_memory_event(source, started, **fields)
    start, more = time.perf_counter(), dict[str, Any]()
    try:
        yield more
    except GeneratorExit:
        raise
    except BaseException as error:  # reported whatever it is, also a cancellation
        emit_memory_event(source, failed, **fields, error=str(error))
        raise
    emit_memory_event(source, ended, **{**completed, **more, duration: (time.perf_counter() - start) * 1000})


def emit_memory_event(source: object, event: "type[BaseEvent]", **fields: Any) -> None:
    """Emit an event if it has listeners and the run is not being replayed."""
    from crewgraph import events

    if events.crewai_event_bus.wants(event) and not is_replayed():
        events.crewai_event_bus.emit(source, event(**fields))
