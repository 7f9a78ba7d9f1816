"""The lineage of events: the scope they happen in, the previous event, and the event that triggered them.

A start event (of a kickoff, a task, a model request) opens a scope, and its end event closes it. Threads and tasks inherit
the open scopes of the code that starts them. Events are numbered per run, across its threads and tasks; `EventContextConfig`
says how to handle end events that do not match. An event without listeners is replaced by an `UnemittedEvent`, so that the
scope it opens or closes still counts for others.
"""

import logging
import threading
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import NamedTuple

from crewgraph.errors import CrewgraphError
from crewgraph.events.base import BaseEvent, new_id, task_id_of
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.scoped import give_back, restoring, scoped

__all__ = [
    "ENDINGS",
    "ENDS",
    "OUTER",
    "PAIRING",
    "STARTS",
    "EmptyStackError",
    "EventContextConfig",
    "EventPairingError",
    "Lineage",
    "MismatchBehavior",
    "Scopes",
    "StackDepthExceededError",
    "SuspendedLineage",
    "UnemittedEvent",
    "assign_lineage",
    "check_depth",
    "current_lineage",
    "enclosing_event",
    "event_scope",
    "forget_last_event",
    "last_event",
    "latest_number",
    "next_number",
    "open_scopes",
    "pop_scope",
    "push_scope",
    "report_empty_pop",
    "report_mismatch",
    "reset_numbers",
    "restore_scopes",
    "restored_lineage",
    "resume_task_scope",
    "run_id",
    "running",
    "scope_event",
    "set_last_event",
    "set_number",
    "set_trigger",
    "trigger",
    "triggered_by",
    "unemitted_event",
]


_log = redacted_logger("crewgraph.events")


class EmptyStackError(CrewgraphError):
    """An end event without a matching start event."""


class EventPairingError(CrewgraphError):
    """An end event that does not match the last start event."""


class StackDepthExceededError(CrewgraphError):
    """Too many scopes are open within each other."""


class MismatchBehavior(Enum):
    """How to handle an event that closes a scope other than the open one."""

    WARN = "warn"
    RAISE = "raise"
    SILENT = "silent"


@dataclass
class EventContextConfig:
    """How scopes are tracked."""

    max_stack_depth: int = 100
    """The maximum depth of open scopes; 0 for no limit."""

    mismatch_behavior: MismatchBehavior = MismatchBehavior.WARN
    """What to do if the closed scope is not the open one."""

    empty_pop_behavior: MismatchBehavior = MismatchBehavior.WARN
    """What to do if a scope is closed and none is open."""


PAIRING: ContextVar[EventContextConfig | None] = ContextVar("crewgraph_event_pairing", default=None)
"""How scopes are tracked in the running code; None for the default."""

_DEFAULT = EventContextConfig()


def check_depth(depth: int) -> None:
    """Check that another scope may be opened.

    Raises:
        StackDepthExceededError: too many are open.
    """
    limit = (PAIRING.get() or _DEFAULT).max_stack_depth
    if 0 < limit <= depth:
        raise StackDepthExceededError(
            f"{depth} nested events have started and not ended; `max_stack_depth` is {limit}. An event that ends "
            "something is missing, or the limit is too low"
        )


def report_empty_pop(event_type_name: str) -> None:
    """Handle an end event without an open scope.

    Raises:
        EmptyStackError: `empty_pop_behavior` is RAISE.
    """
    text = f"the event `{event_type_name}` ends a scope, but none is open: its start event is missing"
    _report((PAIRING.get() or _DEFAULT).empty_pop_behavior, EmptyStackError(text))


def report_mismatch(event_type_name: str, popped_type: str, expected_start: str) -> None:
    """Handle an end event that does not match the open scope.

    Raises:
        EventPairingError: `mismatch_behavior` is RAISE.
    """
    text = f"the event `{event_type_name}` ends a `{popped_type}`, where a `{expected_start}` had to be open"
    _report((PAIRING.get() or _DEFAULT).mismatch_behavior, EventPairingError(text))


def _report(behavior: MismatchBehavior, error: CrewgraphError) -> None:
    if behavior is MismatchBehavior.RAISE:
        raise error
    if behavior is MismatchBehavior.WARN:
        # Without an explicit config, mismatches are only worth a debug message.
        _log.log(logging.DEBUG if PAIRING.get() is None else logging.WARNING, "%s", error)


_OUTCOMES: dict[str, tuple[str, ...]] = {
    "a2a_conversation": ("completed",),
    "a2a_delegation": ("completed",),
    "a2a_parallel_delegation": ("completed",),
    "a2a_server_task": ("completed", "canceled", "failed"),
    "agent_execution": ("completed", "error"),
    "agent_reasoning": ("completed", "failed"),
    "crew_kickoff": ("completed", "failed", "paused"),
    "crew_test": ("completed", "failed"),
    "crew_train": ("completed", "failed"),
    "flow": ("finished", "failed", "paused"),
    "knowledge_query": ("completed", "failed"),
    "knowledge_search_query": ("completed", "failed"),
    "lite_agent_execution": ("completed", "error"),
    "llm_call": ("completed", "failed"),
    "llm_guardrail": ("completed", "failed"),
    "mcp_connection": ("completed", "failed"),
    "mcp_tool_execution": ("completed", "failed"),
    "memory_query": ("completed", "failed"),
    "memory_retrieval": ("completed", "failed"),
    "memory_save": ("completed", "failed"),
    "method_execution": ("finished", "failed", "paused"),
    "task": ("completed", "failed"),
    "tool_usage": ("finished", "error"),
}

ENDINGS: dict[str, str] = {f"{kind}_{end}": f"{kind}_started" for kind, ends in _OUTCOMES.items() for end in ends}
"""The types of opening events by the types of the events that close their scopes."""

STARTS: frozenset[str] = frozenset(ENDINGS.values())
"""The types of events that open a scope."""

ENDS: frozenset[str] = frozenset(ENDINGS)
"""The types of events that close a scope."""

OUTER: frozenset[str] = frozenset(
    kind
    for pair in ENDINGS.items()
    for kind in pair
    if pair[1]
    in {f"{item}_started" for item in ("crew_kickoff", "crew_test", "crew_train", "flow", "method_execution", "task")}
)
"""The types of the events around the work of agents; inside it they occur only in runs that a tool kicks off."""


@dataclass(eq=False)
class UnemittedEvent:
    """The part of an event that places other events; creating the whole event takes ten times as long."""

    type: str
    task_id: str | None
    event_id: str = field(default_factory=new_id)
    parent_event_id: str | None = None
    previous_event_id: str | None = None
    triggered_by_event_id: str | None = None
    started_event_id: str | None = None
    emission_sequence: int | None = None


def unemitted_event(event_type: type[BaseEvent], fields: Mapping[str, object]) -> UnemittedEvent:
    """Return the stand-in for an event of a class with these fields."""
    return UnemittedEvent(_type_of(event_type), task_id_of(fields))


@cache
def _type_of(event_type: type[BaseEvent]) -> str:
    return event_type.model_fields["type"].default


Scopes = tuple[tuple[str, str], ...]
"""The open scopes, the innermost last: the id and the type of the event that opened each."""

_TASK = "task_started"
_TASKS = frozenset({_TASK})
_ROOTS = frozenset({"crew_kickoff_started", "flow_started"})
"""The types of events that start a run's numbering if no scope is open."""


class Lineage(NamedTuple):
    """The lineage of the running code."""

    scopes: Scopes
    """The open scopes, innermost last."""

    trigger: str | None
    """The event that triggered it."""


@dataclass
class _RunCounters:
    """The counters that the threads and tasks of one run share."""

    number: int = 0
    last: str | None = None
    tasks: dict[str, dict[str, Scopes]] = field(default_factory=dict[str, dict[str, Scopes]])
    """The open scopes of tasks, by task id and start event: a task may continue in another thread, and several runs run it."""

    lock: threading.Lock = field(default_factory=threading.Lock)


_SCOPES: ContextVar[Scopes] = ContextVar("crewgraph_event_scopes", default=())
_TRIGGER: ContextVar[str | None] = ContextVar("crewgraph_event_trigger", default=None)
_RUN: ContextVar[str | None] = ContextVar("crewgraph_run", default=None)
_COUNTERS: ContextVar[_RunCounters | None] = ContextVar("crewgraph_event_counters", default=None)


def assign_lineage(event: BaseEvent | UnemittedEvent) -> None:
    """Set the lineage of an event that is emitted; an event that has one keeps it."""
    fields = vars(event)  # assigning to an event costs more than all of this
    if fields["emission_sequence"] is not None:
        return
    kind: str = fields["type"]
    scopes = _scopes_of(fields)
    if kind in _ROOTS and not scopes:
        _COUNTERS.set(_RunCounters())
    counters, start = _ensure_counters(), ENDINGS.get(kind)
    if start is not None:
        _close(fields, scopes, start, counters)
    elif scopes and fields["parent_event_id"] is None:
        fields["parent_event_id"] = scopes[-1][0]
    if fields["triggered_by_event_id"] is None:
        fields["triggered_by_event_id"] = _TRIGGER.get()
    with counters.lock:
        counters.number += 1
        if fields["previous_event_id"] is None:
            fields["previous_event_id"] = counters.last
        fields["emission_sequence"], counters.last = counters.number, fields["event_id"]
    if kind in STARTS:
        check_depth(len(scopes))
        _store_scopes(fields, (*scopes, (fields["event_id"], kind)), counters)


def _scopes_of(event: PlainMapping) -> Scopes:
    """Return the open scopes for an event: those of the running code, or of its task if the code has not opened it."""
    scopes, counters, task_id = _SCOPES.get(), _COUNTERS.get(), event["task_id"]
    if counters is not None and task_id in counters.tasks:
        executions = counters.tasks[task_id]
        if not any(opener in executions for opener, _ in scopes):
            run = _innermost(scopes, _ROOTS)
            return next((begun for begun in reversed(executions.values()) if _innermost(begun, _ROOTS) == run), scopes)
    return scopes


def _close(event: PlainDict, scopes: Scopes, start: str, counters: _RunCounters) -> None:
    if not scopes:
        report_empty_pop(event["type"])
        return
    index = len(scopes) - 1
    while index >= 0 and scopes[index][1] != start:
        index -= 1
    if index < 0:  # it was never started: a call to an unknown tool
        parent = scopes[-1][0]
    else:
        if index < len(scopes) - 1:
            report_mismatch(event["type"], scopes[-1][1], start)
        parent = scopes[index - 1][0] if index > 0 else None
        if event["started_event_id"] is None:
            event["started_event_id"] = scopes[index][0]
        _store_scopes(event, scopes[:index], counters)
    if event["parent_event_id"] is None:
        event["parent_event_id"] = parent


def _store_scopes(event: PlainMapping, scopes: Scopes, counters: _RunCounters) -> None:
    _SCOPES.set(scopes)
    task_id = event["task_id"]
    if task_id is None:
        return
    if event["started_event_id"] is not None and ENDINGS[event["type"]] == _TASK:
        counters.tasks.get(task_id, {}).pop(event["started_event_id"], None)
    elif execution := _innermost(scopes, _TASKS):
        counters.tasks.setdefault(task_id, {})[execution] = scopes


def _innermost(scopes: Scopes, kinds: frozenset[str]) -> str:
    """Return the event that opened the innermost scope of one of these types; empty if there is none."""
    return next((opener for opener, kind in reversed(scopes) if kind in kinds), "")


def _ensure_counters() -> _RunCounters:
    counters = _COUNTERS.get()
    if counters is None:
        counters = _RunCounters()
        _COUNTERS.set(counters)
    return counters


def current_lineage() -> Lineage:
    """The lineage of the running code."""
    return Lineage(_SCOPES.get(), _TRIGGER.get())


class restored_lineage(restoring):
    """Restores the lineage after a block; inside, the given one counts, if any."""

    __slots__ = ("_lineage",)

    def __init__(self, lineage: Lineage | None = None) -> None:
        self._lineage = lineage

    def __enter__(self) -> None:
        scopes, trigger = self._lineage or (_SCOPES.get(), _TRIGGER.get())
        self._tokens = _SCOPES.set(scopes), _TRIGGER.set(trigger)


class running(restoring):
    """Encloses a run of a crew or flow: gives it an id unless it is inside another run, and restores the lineage at its end."""

    __slots__ = ()

    def __enter__(self) -> None:
        run = _RUN.get() or new_id()
        self._tokens = _RUN.set(run), _SCOPES.set(_SCOPES.get()), _TRIGGER.set(_TRIGGER.get())


def run_id() -> str | None:
    """Return the id of the outermost run of the running code."""
    return _RUN.get()


class SuspendedLineage:
    """The lineage of a run that continues in steps, perhaps on other threads, with other code in between."""

    def __init__(self) -> None:
        self._left: tuple[Lineage, _RunCounters | None, str | None] | None = None

    @contextmanager
    def resumed(self) -> Generator[None]:
        """Enclose a step of the run; afterwards the lineage of the surrounding code is restored."""
        (scopes, trigger), counters, run = self._left or (current_lineage(), _COUNTERS.get(), _RUN.get())
        tokens = _SCOPES.set(scopes), _TRIGGER.set(trigger), _COUNTERS.set(counters), _RUN.set(run)
        try:
            yield
        finally:
            self._left = current_lineage(), _COUNTERS.get(), _RUN.get()
            give_back(*tokens)


def open_scopes() -> Scopes:
    """The open scopes, innermost last."""
    return _SCOPES.get()


def scope_event() -> str | None:
    """The event that opened the innermost scope."""
    scopes = _SCOPES.get()
    return scopes[-1][0] if scopes else None


def enclosing_event() -> str | None:
    """The event that opened the scope around the innermost one."""
    scopes = _SCOPES.get()
    return scopes[-2][0] if len(scopes) > 1 else None


def push_scope(event_id: str, event_type: str = "") -> None:
    """Open a scope.

    Raises:
        StackDepthExceededError: too many are open.
    """
    scopes = _SCOPES.get()
    check_depth(len(scopes))
    _SCOPES.set((*scopes, (event_id, event_type)))


def pop_scope() -> tuple[str, str] | None:
    """Close the innermost scope and return the event that opened it; None if none is open."""
    scopes = _SCOPES.get()
    if not scopes:
        return None
    _SCOPES.set(scopes[:-1])
    return scopes[-1]


def restore_scopes(stack: Scopes) -> None:
    """Set the open scopes."""
    _SCOPES.set(tuple((event_id, kind) for event_id, kind in stack))


@contextmanager
def event_scope(event_id: str, event_type: str = "") -> Generator[None]:
    """Open a scope for a block, unless it is already open."""
    with scoped(_SCOPES, _SCOPES.get()):
        if all(opener != event_id for opener, _ in _SCOPES.get()):
            push_scope(event_id, event_type)
        yield


def resume_task_scope(task_id: str) -> bool:
    """Enter the scope of a running task; False if there is none."""
    counters = _COUNTERS.get()
    executions = {} if counters is None else counters.tasks.get(task_id)
    if not executions:
        return False
    _SCOPES.set(next(reversed(executions.values())))
    return True


def trigger() -> str | None:
    """Return the id of the event that triggered the running code."""
    return _TRIGGER.get()


def set_trigger(event_id: str | None) -> None:
    """Set the id of the event that triggered the running code."""
    _TRIGGER.set(event_id)


def triggered_by(event_id: str) -> AbstractContextManager[None]:
    """Mark a block as triggered by an event."""
    return scoped(_TRIGGER, event_id)


def last_event() -> str | None:
    """Return the id of the last event of the run."""
    counters = _COUNTERS.get()
    return None if counters is None else counters.last


def set_last_event(event_id: str | None) -> None:
    """Set the id of the last event of the run."""
    _ensure_counters().last = event_id


def forget_last_event() -> None:
    """Clear the id of the last event of the run."""
    _ensure_counters().last = None


def latest_number() -> int:
    """Return the number of the last event of the run; 0 before the first."""
    counters = _COUNTERS.get()
    return 0 if counters is None else counters.number


def next_number() -> int:
    """Return the number for the next event."""
    counters = _ensure_counters()
    with counters.lock:
        counters.number += 1
        return counters.number


def reset_numbers() -> None:
    """Restart numbering at 1."""
    _ensure_counters().number = 0


def set_number(start: int) -> None:
    """Continue numbering after a number."""
    _ensure_counters().number = start
