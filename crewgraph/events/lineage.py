"""The lineage of events: the scope they happen in, the previous event, and the event that triggered them.

What begins (a crew's kickoff, a task, a request to a model) opens a scope, and what ends closes it. The open scopes are those
of the running code: threads and tasks that it starts inherit them. The numbers of the events are those of a *course*: one
run, begun where no scope was open, with all of its threads and tasks.

What is done about scopes that were not closed as they were opened.

Which events open a scope, and which close it.

What stands among the events for one that nobody hears, and that opens or closes a scope for those that are heard.
"""

import logging
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from crewgraph.errors import CrewgraphError
from crewgraph.events.base import BaseEvent, new_id, task_id_of

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
    "Standing",
    "Unheard",
    "apart",
    "check_depth",
    "enclosing_event",
    "enter",
    "event_scope",
    "forget_last_event",
    "here",
    "last_event",
    "latest_number",
    "next_number",
    "opened",
    "place",
    "pop_scope",
    "push_scope",
    "reset_numbers",
    "restore_scopes",
    "resume_task_scope",
    "run_id",
    "running",
    "scope_event",
    "set_last_event",
    "set_number",
    "set_trigger",
    "told_empty",
    "told_mismatch",
    "trigger",
    "triggered_by",
    "unheard",
]


_log = logging.getLogger("crewgraph.events")


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
        StackDepthExceededError: so it is.
    """
    most = (PAIRING.get() or _DEFAULT).max_stack_depth
    if 0 < most <= depth:
        raise StackDepthExceededError(
            f"{depth} events have begun within each other and not ended; `max_stack_depth` is {most}. An event that ends "
            "something is missing, or the limit is too low"
        )


def told_empty(event_type_name: str) -> None:
    """Handle an end event without an open scope.

    Raises:
        EmptyStackError: that is what was wished for.
    """
    told = f"the event `{event_type_name}` ends something, and nothing had begun: the event that begins it is missing"
    _do((PAIRING.get() or _DEFAULT).empty_pop_behavior, EmptyStackError(told))


def told_mismatch(event_type_name: str, popped_type: str, expected_start: str) -> None:
    """Handle an end event that does not match the open scope.

    Raises:
        EventPairingError: that is what was wished for.
    """
    told = f"the event `{event_type_name}` ends a `{popped_type}`, where a `{expected_start}` had to be open"
    _do((PAIRING.get() or _DEFAULT).mismatch_behavior, EventPairingError(told))


def _do(behavior: MismatchBehavior, error: CrewgraphError) -> None:
    if behavior is MismatchBehavior.RAISE:
        raise error
    if behavior is MismatchBehavior.WARN:
        # Who has not said how scopes are to be kept may emit what he likes.
        _log.log(logging.DEBUG if PAIRING.get() is None else logging.WARNING, "%s", error)


_OUTCOMES: dict[str, tuple[str, ...]] = {
    "a2a_conversation": ("completed",),
    "a2a_delegation": ("completed",),
    "a2a_parallel_delegation": ("completed",),
    "a2a_server_task": ("completed", "canceled", "failed"),
    "agent_evaluation": ("completed", "failed"),
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

ENDINGS: dict[str, str] = {f"{one}_{how}": f"{one}_started" for one, ends in _OUTCOMES.items() for how in ends}
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
"""The types of both that enclose the work of agents; inside it they occur only in runs that a tool kicks off."""


@dataclass(eq=False)
class Unheard:
    """The part of an event that places other events; creating the whole event takes ten times as long."""

    type: str
    task_id: str | None
    event_id: str = field(default_factory=new_id)
    parent_event_id: str | None = None
    previous_event_id: str | None = None
    triggered_by_event_id: str | None = None
    started_event_id: str | None = None
    emission_sequence: int | None = None


def unheard(event_type: type[BaseEvent], fields: Mapping[str, object]) -> Unheard:
    """Return the stand-in for an event of a class with these fields."""
    return Unheard(event_type.model_fields["type"].default, task_id_of(fields))


Scopes = tuple[tuple[str, str], ...]
"""The open scopes, the innermost last: the id and the type of the event that opened each."""

_TASK = "task_started"
_ROOTS = frozenset({"crew_kickoff_started", "flow_started"})
"""The empty lineage."""


class Lineage(NamedTuple):
    """The lineage of the running code."""

    scopes: Scopes
    """The open scopes, innermost last."""

    trigger: str | None
    """The event that triggered it."""


@dataclass
class _Course:
    """The counters that the threads and tasks of one run share."""

    number: int = 0
    last: str | None = None
    tasks: dict[str, Scopes] = field(default_factory=dict[str, Scopes])
    """The open scopes of tasks by task id; a task may continue in another thread."""

    lock: threading.Lock = field(default_factory=threading.Lock)


_SCOPES: ContextVar[Scopes] = ContextVar("crewgraph_event_scopes", default=())
_TRIGGER: ContextVar[str | None] = ContextVar("crewgraph_event_trigger", default=None)
_RUN: ContextVar[str | None] = ContextVar("crewgraph_run", default=None)
_COURSE: ContextVar[_Course | None] = ContextVar("crewgraph_event_course", default=None)


def place(event: BaseEvent | Unheard) -> None:
    """Set the place of an event that is emitted; an event that has a place keeps it."""
    held = vars(event)  # what assigning costs is more than all of this
    if held["emission_sequence"] is not None:
        return
    kind: str = held["type"]
    scopes = _scopes_of(held)
    if kind in _ROOTS and not scopes:
        _COURSE.set(_Course())
    course, start = _course(), ENDINGS.get(kind)
    if start is not None:
        _close(held, scopes, start, course)
    elif scopes and held["parent_event_id"] is None:
        held["parent_event_id"] = scopes[-1][0]
    if held["triggered_by_event_id"] is None:
        held["triggered_by_event_id"] = _TRIGGER.get()
    with course.lock:
        course.number += 1
        if held["previous_event_id"] is None:
            held["previous_event_id"] = course.last
        held["emission_sequence"], course.last = course.number, held["event_id"]
    if kind in STARTS:
        check_depth(len(scopes))
        _keep(held, (*scopes, (held["event_id"], kind)), course)


def _scopes_of(event: Mapping[str, Any]) -> Scopes:
    """Return the open scopes for an event: those of the running code, or of its task if the code has not begun it."""
    scopes, course, task_id = _SCOPES.get(), _COURSE.get(), event["task_id"]
    if course is not None and task_id is not None:
        begun = course.tasks.get(task_id, ())
        for item in reversed(begun):
            if item[1] == _TASK:
                return scopes if item in scopes else begun
    return scopes


def _close(event: dict[str, Any], scopes: Scopes, start: str, course: _Course) -> None:
    if not scopes:
        told_empty(event["type"])
        return
    at = len(scopes) - 1
    while at >= 0 and scopes[at][1] != start:
        at -= 1
    if at < 0:  # what ended had not begun: a tool that there is not
        parent = scopes[-1][0]
    else:
        if at < len(scopes) - 1:
            told_mismatch(event["type"], scopes[-1][1], start)
        parent = scopes[at - 1][0] if at > 0 else None
        if event["started_event_id"] is None:
            event["started_event_id"] = scopes[at][0]
        _keep(event, scopes[:at], course)
    if event["parent_event_id"] is None:
        event["parent_event_id"] = parent


def _keep(event: Mapping[str, Any], scopes: Scopes, course: _Course) -> None:
    _SCOPES.set(scopes)
    if event["task_id"] is not None:
        course.tasks[event["task_id"]] = scopes


def _course() -> _Course:
    course = _COURSE.get()
    if course is None:
        course = _Course()
        _COURSE.set(course)
    return course


def here() -> Lineage:
    """The lineage of the running code."""
    return Lineage(_SCOPES.get(), _TRIGGER.get())


def enter(lineage: Lineage) -> None:
    """Set the lineage of the running code."""
    _SCOPES.set(lineage.scopes)
    _TRIGGER.set(lineage.trigger)


@contextmanager
def apart(lineage: Lineage | None = None) -> Generator[None]:
    """Restore the lineage after a block; inside, use the given one, if any."""
    before = here()
    if lineage is not None:
        enter(lineage)
    try:
        yield
    finally:
        enter(before)


def _stand(lineage: Lineage, course: _Course | None, run: str | None) -> None:
    enter(lineage)
    _COURSE.set(course)
    _RUN.set(run)


@contextmanager
def running() -> Generator[None]:
    """Enclose a run of a crew or flow: give it an id unless it is inside another run, and restore the lineage at its end."""
    around, lineage = _RUN.get(), here()
    _RUN.set(around or new_id())
    try:
        yield
    finally:
        enter(lineage)
        _RUN.set(around)


def run_id() -> str | None:
    """Return the id of the outermost run of the running code."""
    return _RUN.get()


class Standing:
    """The lineage of a run that continues in steps, perhaps on other threads, with other code in between."""

    def __init__(self) -> None:
        self._left: tuple[Lineage, _Course | None, str | None] | None = None

    @contextmanager
    def taken_up(self) -> Generator[None]:
        """Enclose a step of the run; afterwards the lineage of the surrounding code is restored."""
        before = here(), _COURSE.get(), _RUN.get()
        if self._left is not None:
            _stand(*self._left)
        try:
            yield
        finally:
            self._left = here(), _COURSE.get(), _RUN.get()
            _stand(*before)


def opened() -> Scopes:
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
    _SCOPES.set(tuple((one, kind) for one, kind in stack))


@contextmanager
def event_scope(event_id: str, event_type: str = "") -> Generator[None]:
    """Open a scope for a block, unless it is already open."""
    before = _SCOPES.get()
    if all(one != event_id for one, _ in before):
        push_scope(event_id, event_type)
    try:
        yield
    finally:
        _SCOPES.set(before)


def resume_task_scope(task_id: str) -> bool:
    """Enter the scope of a running task; False if there is none."""
    course = _COURSE.get()
    scopes = () if course is None else course.tasks.get(task_id, ())
    if not any(kind == _TASK for _, kind in scopes):
        return False
    _SCOPES.set(scopes)
    return True


def trigger() -> str | None:
    """Return the id of the event that triggered the running code."""
    return _TRIGGER.get()


def set_trigger(event_id: str | None) -> None:
    """Set the id of the event that triggered the running code."""
    _TRIGGER.set(event_id)


@contextmanager
def triggered_by(event_id: str) -> Generator[None]:
    """Mark a block as triggered by an event."""
    before = _TRIGGER.get()
    _TRIGGER.set(event_id)
    try:
        yield
    finally:
        _TRIGGER.set(before)


def last_event() -> str | None:
    """Return the id of the last event of the run."""
    course = _COURSE.get()
    return None if course is None else course.last


def set_last_event(event_id: str | None) -> None:
    """Set the id of the last event of the run."""
    _course().last = event_id


def forget_last_event() -> None:
    """Clear the id of the last event of the run."""
    _course().last = None


def latest_number() -> int:
    """Return the number of the last event of the run; 0 before the first."""
    course = _COURSE.get()
    return 0 if course is None else course.number


def next_number() -> int:
    """Return the number for the next event."""
    course = _course()
    with course.lock:
        course.number += 1
        return course.number


def reset_numbers() -> None:
    """Restart numbering at 1."""
    _course().number = 0


def set_number(start: int) -> None:
    """Continue numbering after a number."""
    _course().number = start
