"""The registrations that are in force together."""

from dataclasses import replace

from crewgraph.errors import DefinitionError, Fault
from crewgraph.events.base import BaseEvent
from crewgraph.events.depends import Handler, handler_name
from crewgraph.events.plan import Plan, Registration

__all__ = ["Scope"]


class Scope:
    """The process's own registrations, or those made inside one `scoped_handlers`.

    The registrations and the plans made from them are replaced, never changed, so that an emitter needs no
    lock to read them. Whoever writes holds the bus's lock.
    """

    registrations: tuple[Registration, ...]
    """In the order they were made."""

    plans: dict[type[BaseEvent], Plan]
    """The plans asked for since the last registration."""

    outer: "Scope | None"
    """The scope of the code that opened this one; None where it had none of its own."""

    closed: bool
    """Whether the block has been left."""

    def __init__(self, outer: "Scope | None" = None) -> None:
        self.registrations = ()
        self.plans = {}
        self.outer = outer
        self.closed = False

    def add(self, new: Registration) -> None:
        """Register a handler; one that is there keeps its place and gets the new dependencies, if any.

        Raises:
            CircularDependencyError: handlers would wait for one another; nothing is registered then.
        """
        kept = list(self.registrations)
        for place, one in enumerate(kept):
            if one.event_type is new.event_type and one.handler == new.handler:
                kept[place] = replace(one, after=new.after or one.after)
                break
        else:
            kept.append(new)
        if any(one.after for one in kept):
            for event_type in {one.event_type for one in kept}:
                Plan.of(kept, event_type)
        self._replace(tuple(kept))

    def remove(self, event_type: type[BaseEvent], handler: Handler) -> None:
        """Forget a registration, if there is one."""
        self._replace(
            tuple(one for one in self.registrations if one.event_type is not event_type or one.handler != handler)
        )

    def plan(self, event_type: type[BaseEvent]) -> Plan:
        """The plan for a class of events, made now and kept until the next registration."""
        made = self.plans[event_type] = Plan.of(self.registrations, event_type)
        return made

    def validate(self) -> None:
        """Check that every dependency can be met.

        Raises:
            DefinitionError: a handler waits for one that is registered for none of its events.
        """
        faults = [
            Fault(
                where=f"event handler `{handler_name(one.handler)}` of `{one.event_type.__name__}`",
                what=f"It depends on `{handler_name(before)}`, which is not registered for that event.",
                remedy="Register that handler for the event too, or take the dependency away.",
                code="unmet-dependency",
            )
            for one in self.registrations
            for before in one.after
            if not any(other.handler == before and _meet(one, other) for other in self.registrations)
        ]
        if faults:
            raise DefinitionError(faults)

    def _replace(self, registrations: tuple[Registration, ...]) -> None:
        self.registrations = registrations
        self.plans = {}


def _meet(one: Registration, other: Registration) -> bool:
    """Whether an event can reach both."""
    return issubclass(one.event_type, other.event_type) or issubclass(other.event_type, one.event_type)
