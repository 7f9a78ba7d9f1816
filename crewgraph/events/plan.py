"""Which handlers an event reaches, and in what order."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace

from crewgraph.events.base import BaseEvent
from crewgraph.events.depends import CircularDependencyError, Handler, called
from crewgraph.events.pairs import ENDS, OUTER, STARTS

__all__ = ["Plan", "Registration", "Steps"]

Steps = tuple[tuple[tuple[Handler, bool], ...], ...]
"""Handlers, each with whether it is awaited, in steps that begin when the one before is done."""


@dataclass(frozen=True, slots=True, eq=False)
class Registration:
    """A handler and the events it is for."""

    event_type: type[BaseEvent]
    """The class of events; those of its subclasses count."""

    handler: Handler
    """The handler."""

    after: tuple[Handler, ...] = ()
    """The handlers that must be done before."""

    alone: bool = False
    """Whether it is all the same to the handler in which scope an event stands, so that none is made for that."""

    @property
    def awaited(self) -> bool:
        """Whether the handler is an `async def`."""
        called = getattr(type(self.handler), "__call__", None)  # noqa: B004  (an object with an async `__call__`)
        return inspect.iscoroutinefunction(self.handler) or inspect.iscoroutinefunction(called)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The handlers of one class of events in the order they are called."""

    inline: tuple[Handler, ...]
    """Synchronous ones that wait for no `async def`: the emitter calls them, one after the other."""

    later: Steps
    """The others."""

    silent: bool
    """Whether nobody listens."""

    made: bool
    """Whether it is made: somebody listens, or to other events, which stand in the scope that it opens or closes."""

    @classmethod
    def of(cls, registrations: Sequence[Registration], event_type: type[BaseEvent]) -> "Plan":
        """Order the handlers of a class of events: as registered, but each after those it depends on.

        A handler that several registrations bring to the event is called once, after the dependencies of all
        of them. A dependency that is not for this event holds nobody up.

        Raises:
            CircularDependencyError: handlers wait for one another.
        """
        waiting = _merged([one for one in registrations if issubclass(event_type, one.event_type)])
        silent = not waiting
        made = not silent or any(_in_scope_of(event_type, one) for one in registrations)
        inline: list[Handler] = []
        while prompt := next((one for one in waiting if not one.awaited and _free(one, waiting)), None):
            inline.append(called(prompt.handler))
            waiting.remove(prompt)
        later: list[tuple[tuple[Handler, bool], ...]] = []
        while waiting:
            step = [one for one in waiting if _free(one, waiting)]
            if not step:
                raise CircularDependencyError([one.handler for one in waiting])
            later.append(tuple((called(one.handler), one.awaited) for one in step))
            waiting = [one for one in waiting if one not in step]
        return cls(tuple(inline), tuple(later), silent, made)


def _in_scope_of(event_type: type[BaseEvent], one: Registration) -> bool:
    """Whether what a handler hears may stand in the scope that an event opens or closes."""
    kind = _kind(event_type)
    if one.alone or (kind not in STARTS and kind not in ENDS):
        return False
    return kind in OUTER or _kind(one.event_type) not in OUTER


def _kind(event_type: type[BaseEvent]) -> object:
    field = event_type.model_fields.get("type")
    return None if field is None else field.default


def _merged(registrations: Sequence[Registration]) -> list[Registration]:
    """One registration a handler."""
    merged: list[Registration] = []
    for one in registrations:
        for place, first in enumerate(merged):
            if first.handler == one.handler:
                merged[place] = replace(first, after=first.after + one.after)
                break
        else:
            merged.append(one)
    return merged


def _has(registrations: Sequence[Registration], handler: Handler) -> bool:
    return any(one.handler == handler for one in registrations)


def _free(one: Registration, waiting: Sequence[Registration]) -> bool:
    return not any(_has(waiting, before) for before in one.after)
