"""What is done about scopes that were not closed as they were opened."""

import logging
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum

from crewgraph.errors import CrewgraphError

__all__ = [
    "PAIRING",
    "EmptyStackError",
    "EventContextConfig",
    "EventPairingError",
    "MismatchBehavior",
    "StackDepthExceededError",
    "check_depth",
    "told_empty",
    "told_mismatch",
]

_log = logging.getLogger("crewgraph.events")


class EmptyStackError(CrewgraphError):
    """Something ended where nothing had begun."""


class EventPairingError(CrewgraphError):
    """Something ended that is not what had begun last."""


class StackDepthExceededError(CrewgraphError):
    """Too many things have begun within each other and not ended."""


class MismatchBehavior(Enum):
    """What is done about an event that closes another scope than the one that is open."""

    WARN = "warn"
    RAISE = "raise"
    SILENT = "silent"


@dataclass
class EventContextConfig:
    """How scopes are kept."""

    max_stack_depth: int = 100
    """How many may be open within each other; 0 sets no bound."""

    mismatch_behavior: MismatchBehavior = MismatchBehavior.WARN
    """What is done where another one is closed than the one that was opened."""

    empty_pop_behavior: MismatchBehavior = MismatchBehavior.WARN
    """What is done where one is closed and none is open."""


PAIRING: ContextVar[EventContextConfig | None] = ContextVar("crewgraph_event_pairing", default=None)
"""How the running code wants scopes to be kept; None for as they are by default."""

_DEFAULT = EventContextConfig()


def check_depth(depth: int) -> None:
    """Refuse another scope where too many are open.

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
    """Something ended, and nothing is open.

    Raises:
        EmptyStackError: that is what was wished for.
    """
    told = f"the event `{event_type_name}` ends something, and nothing had begun: the event that begins it is missing"
    _do((PAIRING.get() or _DEFAULT).empty_pop_behavior, EmptyStackError(told))


def told_mismatch(event_type_name: str, popped_type: str, expected_start: str) -> None:
    """Something ended that is not what began last.

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
