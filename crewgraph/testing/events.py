"""Recording of events, and assertions on them."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar, overload

from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus

_E = TypeVar("_E", bound=BaseEvent)
_MISSING = object()


class EventLog(list[BaseEvent]):
    """The events of a block of code, in order."""

    @property
    def types(self) -> list[str]:
        """The `type` of each event."""
        return [event.type for event in self]

    def of(self, *kinds: type[_E]) -> list[_E]:
        """Return the events of these classes and their subclasses."""
        return [event for event in self if isinstance(event, kinds)]

    @overload
    def assert_emitted(self, kind: type[_E], *, times: None = None, **fields: object) -> _E: ...

    @overload
    def assert_emitted(self, kind: type[_E], *, times: int, **fields: object) -> list[_E]: ...

    def assert_emitted(self, kind: type[_E], *, times: int | None = None, **fields: object) -> _E | list[_E]:
        """Assert that an event of a class was emitted.

        Args:
            kind: The class.
            times: How often; None for at least once.
            fields: What its fields equal.

        Returns:
            The first of these events; with `times`, all of them.

        Raises:
            AssertionError: There is none, or not that many; the message lists the events.
        """
        found = [event for event in self.of(kind) if _has(event, fields)]
        if times is None and found:
            return found[0]
        if times is not None and len(found) == times:
            return found
        description = f"`{kind.__name__}`" + "".join(f", {name}={value!r:.60}" for name, value in fields.items())
        expected = "an event" if times is None else f"{times} events"
        raise AssertionError(f"expected {expected} {description}; {self._there_are(kind, fields, len(found))}")

    def assert_not_emitted(self, kind: type[BaseEvent], **fields: object) -> None:
        """Assert that no event of a class, with these values of its fields, was emitted.

        Raises:
            AssertionError: There is one.
        """
        found = [event for event in self.of(kind) if _has(event, fields)]
        if found:
            raise AssertionError(
                f"expected no event `{kind.__name__}`; there are {len(found)}, the first: {found[0]!r:.500}"
            )

    def assert_order(self, *kinds: type[BaseEvent]) -> None:
        """Assert that events of these classes were emitted in this order; others may occur in between.

        Raises:
            AssertionError: They were not; the message names the missing one.
        """
        position = 0
        for number, kind in enumerate(kinds):
            following = (index for index in range(position, len(self)) if isinstance(self[index], kind))
            found = next(following, None)
            if found is None:
                after = f" after `{kinds[number - 1].__name__}`" if number else ""
                raise AssertionError(
                    f"expected an event `{kind.__name__}`{after}; there are: {', '.join(self.types) or 'none'}"
                )
            position = found + 1

    def _there_are(self, kind: type[BaseEvent], fields: dict[str, object], matching: int) -> str:
        same = self.of(kind)
        if not same:
            return f"there are: {', '.join(self.types) or 'none'}"
        if not fields:
            return f"there are {matching}"
        differing = [{name: getattr(event, name, None) for name in fields} for event in same]
        return f"there are {matching} of {len(same)}, with: {differing!r:.500}"


def _has(event: BaseEvent, fields: dict[str, object]) -> bool:
    return all(getattr(event, name, _MISSING) == value for name, value in fields.items())


@contextmanager
def record_events() -> Generator[EventLog]:
    """Record the events of a block of code. Handlers that are registered already are called as ever."""
    events = EventLog()

    def note(_source: object, event: BaseEvent) -> None:
        events.append(event)

    crewai_event_bus.register_handler(BaseEvent, note)
    try:
        yield events
        crewai_event_bus.flush()
    finally:
        crewai_event_bus.off(BaseEvent, note)
