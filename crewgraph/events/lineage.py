"""The lineage of events: the scope they happen in, the previous event, and the event that triggered them.

A start event (of a kickoff, a task, a model request) opens a scope, and its end event closes it. Threads and tasks inherit
the open scopes of the code that starts them. Events are numbered per run, across its threads and tasks. An event without
listeners that opens or closes a scope is created where others need the scope.
"""

import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import uuid4

from crewgraph.events.base import BaseEvent
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.scoped import scoped

_OUTCOMES: dict[str, str] = {
    "a2a_conversation": "completed",
    "a2a_delegation": "completed",
    "a2a_parallel_delegation": "completed",
    "a2a_server_task": "completed canceled failed",
    "agent_execution": "completed error",
    "agent_reasoning": "completed failed",
    "crew_kickoff": "completed failed paused",
    "crew_test": "completed failed",
    "crew_train": "completed failed",
    "flow": "finished failed paused",
    "knowledge_query": "completed failed",
    "knowledge_search_query": "completed failed",
    "lite_agent_execution": "completed error",
    "llm_call": "completed failed",
    "llm_guardrail": "completed failed",
    "mcp_connection": "completed failed",
    "mcp_tool_execution": "completed failed",
    "memory_query": "completed failed",
    "memory_retrieval": "completed failed",
    "memory_save": "completed failed",
    "method_execution": "finished failed paused",
    "task": "completed failed",
    "tool_usage": "finished error",
}

_ENDINGS: dict[str, str] = {
    f"{kind}_{end}": f"{kind}_started" for kind, ends in _OUTCOMES.items() for end in ends.split()
}

STARTS: frozenset[str] = frozenset(_ENDINGS.values())
"""The types of events that open a scope."""

ENDS: frozenset[str] = frozenset(_ENDINGS)
"""The types of events that close a scope."""

OUTER: frozenset[str] = frozenset(
    kind
    for pair in _ENDINGS.items()
    for kind in pair
    if pair[1]
    in {f"{item}_started" for item in ("crew_kickoff", "crew_test", "crew_train", "flow", "method_execution", "task")}
)
"""The types of the events around the work of agents; inside it they occur only in runs that a tool kicks off."""


Scopes = tuple[tuple[str, str], ...]
"""The open scopes, the innermost last: the id and the type of the event that opened each."""

_TASK = "task_started"
_TASKS = frozenset({_TASK})
_ROOTS = frozenset({"crew_kickoff_started", "flow_started"})
"""The types of events that start a run's numbering if no scope is open."""


@dataclass(eq=False)
class _RunCounters:
    """What the threads and tasks of one run share."""

    number: int = 0
    last: str | None = None
    tasks: dict[str, dict[str, Scopes]] = field(default_factory=dict[str, dict[str, Scopes]])
    """The open scopes of tasks, by task id and start event: a task may continue in another thread, and several runs run it."""

    lock: threading.Lock = field(default_factory=threading.Lock)


class Lineage(NamedTuple):
    """Where the running code stands among the events."""

    scopes: Scopes = ()
    """The open scopes, innermost last."""

    trigger: str | None = None
    """The event that triggered it."""

    run: str | None = None
    """The id of the outermost run around it."""

    counters: _RunCounters | None = None
    """The numbers of the run; None before its first event."""


LINEAGE: ContextVar[Lineage] = ContextVar("crewgraph_lineage", default=Lineage())
"""The lineage of the running code; it moves on with each event."""


def assign_lineage(event: BaseEvent) -> None:
    """Set the lineage of an event that is emitted; an event that has one keeps it."""
    fields = vars(event)  # assigning to an event costs more than all of this
    if fields["emission_sequence"] is not None:
        return
    kind: str = fields["type"]
    here = LINEAGE.get()
    scopes, counters = _scopes_of(fields, here), here.counters
    if counters is None or (kind in _ROOTS and not scopes):
        counters = _RunCounters()
    start = _ENDINGS.get(kind)
    after = here.scopes
    if start is not None:
        after = _close(fields, scopes, start, counters, after)
    elif scopes and fields["parent_event_id"] is None:
        fields["parent_event_id"] = scopes[-1][0]
    if fields["triggered_by_event_id"] is None:
        fields["triggered_by_event_id"] = here.trigger
    with counters.lock:
        counters.number += 1
        if fields["previous_event_id"] is None:
            fields["previous_event_id"] = counters.last
        fields["emission_sequence"], counters.last = counters.number, fields["event_id"]
    if kind in STARTS:
        after = (*scopes, (fields["event_id"], kind))
        _note_scopes(fields, after, counters)
    if after is not here.scopes or counters is not here.counters:
        LINEAGE.set(Lineage(after, here.trigger, here.run, counters))


def _scopes_of(event: PlainMapping, here: Lineage) -> Scopes:
    """Return the open scopes for an event: those of the running code, or of its task if the code has not opened it."""
    scopes, counters, task_id = here.scopes, here.counters, event["task_id"]
    if counters is not None and task_id in counters.tasks:
        executions = counters.tasks[task_id]
        if not any(opener in executions for opener, _ in scopes):
            run = _innermost(scopes, _ROOTS)
            return next((begun for begun in reversed(executions.values()) if _innermost(begun, _ROOTS) == run), scopes)
    return scopes


def _close(event: PlainDict, scopes: Scopes, start: str, counters: _RunCounters, after: Scopes) -> Scopes:
    """Place an event that ends the innermost scope of a type, and return the scopes that stay open; `after` if there is none."""
    if not scopes:
        return after
    index = len(scopes) - 1
    while index >= 0 and scopes[index][1] != start:
        index -= 1
    if index < 0:  # it was never started: a call to an unknown tool
        parent = scopes[-1][0]
    else:
        parent = scopes[index - 1][0] if index > 0 else None
        if event["started_event_id"] is None:
            event["started_event_id"] = scopes[index][0]
        after = scopes[:index]
        _note_scopes(event, after, counters)
    if event["parent_event_id"] is None:
        event["parent_event_id"] = parent
    return after


def _note_scopes(event: PlainMapping, scopes: Scopes, counters: _RunCounters) -> None:
    """Note the open scopes of an event's task."""
    task_id = event["task_id"]
    if task_id is None:
        return
    if event["started_event_id"] is not None and _ENDINGS[event["type"]] == _TASK:
        counters.tasks.get(task_id, {}).pop(event["started_event_id"], None)
    elif execution := _innermost(scopes, _TASKS):
        counters.tasks.setdefault(task_id, {})[execution] = scopes


def _innermost(scopes: Scopes, kinds: frozenset[str]) -> str:
    """Return the event that opened the innermost scope of one of these types; empty if there is none."""
    return next((opener for opener, kind in reversed(scopes) if kind in kinds), "")


def restored_lineage(lineage: Lineage | None = None) -> scoped[Lineage]:
    """Restore the lineage after a block; inside, the given one counts, if any."""
    return scoped(LINEAGE, lineage or LINEAGE.get())


def running() -> scoped[Lineage]:
    """Enclose a run of a crew or flow: give it an id unless it is inside another run, and restore the lineage at its end."""
    here = LINEAGE.get()
    return scoped(LINEAGE, here if here.run else here._replace(run=str(uuid4())))


def last_event() -> str | None:
    """Return the id of the last event of the run."""
    counters = LINEAGE.get().counters
    return None if counters is None else counters.last
